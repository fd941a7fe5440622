#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "marpc/registry/record.h"
#include "marpc/registry/registry.h"
#include "tests/registry/registry_fixture.h"
#include "tests/registry_zookeeper/operator_client.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/zookeeper_server.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Connection = RegistryState::Connection;
using Source = ServiceSnapshot::Source;

constexpr char kA[] = "127.0.0.1:1";
constexpr char kB[] = "127.0.0.1:2";

class ZookeeperRegistryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.available()) GTEST_SKIP() << server_.unavailable_because();
    ASSERT_TRUE(server_.Start()) << "see " << server_.log();
  }

  Settings MakeSettings() const {
    Settings settings;
    settings.registry.address = server_.address(chroot_);
    settings.registry.session_timeout = absl::Seconds(2);
    settings.registry.connect_timeout = absl::Seconds(5);
    return settings;
  }
  std::shared_ptr<Registry> Open(const Settings& settings) const { return *OpenRegistry(settings); }
  std::shared_ptr<Registry> Open() const { return Open(MakeSettings()); }
  std::unique_ptr<Lease> Register(Registry& registry, const std::string& endpoint) const {
    auto lease = registry.Register(kService, MakeInstance(endpoint));
    EXPECT_TRUE(lease.ok());
    EXPECT_TRUE(Eventually([&] { return (*lease)->registered(); }));
    return *std::move(lease);
  }
  std::unique_ptr<ChildProcess> StartProvider(const std::string& endpoint) const {
    auto child = std::make_unique<ChildProcess>(ChildProcess::Options{
        {MARPC_REGISTRY_CHILD, server_.address(chroot_), kService, endpoint}, ""});
    EXPECT_EQ(child->ReadLine(), "registered");
    return child;
  }
  std::string Folder(const std::string& part) const {
    return chroot_ + "/marpc/dev/" + kService + "/" + part;
  }
  std::string PathOf(const std::string& endpoint) const {
    return Folder("providers") + "/" + EncodeName(endpoint);
  }

  const std::string chroot_ = "/tests/chroot";
  const TemporaryFolder temporary_;
  ZookeeperServer server_;
};

TEST_F(ZookeeperRegistryTest, RegisterSubscribeAndDeregister) {
  auto providers = Open();
  auto consumers = Open();
  Recorder recorder;
  auto subscription = consumers->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({}), nullptr);
  Instance unix_instance = MakeInstance("unix:/tmp/c.sock");
  unix_instance.weight = 5;
  auto a = Register(*providers, kA);
  auto b = Register(*providers, "[::1]:2");
  auto c = providers->Register(kService, unix_instance);
  auto full = recorder.WaitForEndpoints({kA, "[::1]:2", "unix:/tmp/c.sock"});
  ASSERT_NE(full, nullptr);
  EXPECT_EQ(full->instances[2].weight, 5);
  EXPECT_EQ(consumers->state().connection, Connection::kConnected);

  unix_instance.weight = 6;
  ASSERT_TRUE((*c)->Update(unix_instance).ok());
  ASSERT_NE(recorder.WaitFor(
                [](auto& s) { return s.instances.size() == 3 && s.instances[2].weight == 6; }),
            nullptr);

  EXPECT_TRUE(a->Release(absl::Seconds(10)).ok());
  ASSERT_NE(recorder.WaitForEndpoints({"[::1]:2", "unix:/tmp/c.sock"}), nullptr);
  EXPECT_TRUE(b->Release(absl::Seconds(10)).ok());
  EXPECT_TRUE((*c)->Release(absl::Seconds(10)).ok());
  // The last one's own word empties the list at once.
  auto empty = recorder.WaitForEndpoints({});
  ASSERT_NE(empty, nullptr);
  EXPECT_EQ(empty->source, Source::kRegistry);
  EXPECT_EQ(providers->state().repaired_entries, 0u);
}

TEST_F(ZookeeperRegistryTest, NodesAreAsDocumented) {
  auto registry = Open();
  auto lease = Register(*registry, kA);
  ASSERT_TRUE(registry->SetGray(kService, *Endpoint::Parse("unix:/tmp/x"), true).ok());
  OperatorClient client(server_.port());
  EXPECT_THAT(client.Children("/tests/chroot/marpc/dev/demo.HelloService/providers"),
              ElementsAre(kA));
  EXPECT_THAT(client.Get(PathOf(kA)), HasSubstr(R"("endpoint":"127.0.0.1:1")"));
  EXPECT_NE(client.EphemeralOwner(PathOf(kA)), 0);
  EXPECT_THAT(client.Children(Folder("gray")), ElementsAre("unix:%2Ftmp%2Fx"));
  ASSERT_TRUE(lease->Release(absl::Seconds(10)).ok());
  EXPECT_THAT(client.Children(Folder("providers")), IsEmpty());
  EXPECT_THAT(client.Children(Folder("left")), SizeIs(1));
}

TEST_F(ZookeeperRegistryTest, GrayMarksComeAndGo) {
  auto registry = Open();
  auto operators = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  const Endpoint a = *Endpoint::Parse(kA);
  const Endpoint b = *Endpoint::Parse("unix:/tmp/b");
  ASSERT_TRUE(operators->SetGray(kService, a, true).ok());
  ASSERT_TRUE(operators->SetGray(kService, a, true).ok());
  ASSERT_TRUE(operators->SetGray(kService, b, true).ok());
  ASSERT_NE(recorder.WaitFor([&](auto& s) {
    return s.gray_marks == std::set<Endpoint>{a, b};
  }),
            nullptr);
  ASSERT_TRUE(operators->SetGray(kService, a, false).ok());
  ASSERT_TRUE(operators->SetGray(kService, a, false).ok());
  ASSERT_NE(recorder.WaitFor([&](auto& s) { return s.gray_marks == std::set<Endpoint>{b}; }),
            nullptr);
  ASSERT_TRUE(operators->ClearGray(kService).ok());
  ASSERT_TRUE(operators->ClearGray(kService).ok());
  ASSERT_TRUE(operators->ClearGray("other.Service").ok());
  EXPECT_NE(recorder.WaitFor([&](auto& s) { return s.gray_marks.empty(); }), nullptr);
}

TEST_F(ZookeeperRegistryTest, DirectivesAreOneNode) {
  auto registry = Open();
  auto operators = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({}), nullptr);
  ASSERT_TRUE(operators->SetDirective(kService, "level", "degraded").ok());
  ASSERT_TRUE(operators->SetDirective(kService, "level", "degraded").ok());
  ASSERT_TRUE(operators->SetDirective(kService, "breaker:demo.HelloService", "DISABLED").ok());
  ASSERT_NE(recorder.WaitFor([](auto& s) {
    return s.directives ==
           Directives{{"level", "degraded"}, {"breaker:demo.HelloService", "DISABLED"}};
  }),
            nullptr);
  OperatorClient client(server_.port());
  EXPECT_EQ(client.EphemeralOwner(Folder("directives")), 0);
  EXPECT_THAT(client.Get(Folder("directives")), HasSubstr(R"("level":"degraded")"));
  ASSERT_EQ(client.Set(Folder("directives"), R"({"directives": {"level": "core-only"}})"), ZOK);
  ASSERT_NE(recorder.WaitFor([](auto& s) {
    return s.directives == Directives{{"level", "core-only"}};
  }),
            nullptr);
  ASSERT_TRUE(operators->SetDirective(kService, "level", "").ok());
  ASSERT_TRUE(operators->SetDirective(kService, "level", "").ok());
  ASSERT_NE(recorder.WaitFor([](auto& s) { return s.directives.empty(); }), nullptr);
  EXPECT_FALSE(client.Exists(Folder("directives")));
  // The watch waits for the next node, too; and who comes later is told.
  ASSERT_TRUE(operators->SetDirective(kService, "level", "normal").ok());
  ASSERT_NE(recorder.WaitFor([](auto& s) { return s.directives.size() == 1; }), nullptr);
  auto third = Open();
  Recorder late;
  auto its = third->Subscribe(kService, late.listener());
  EXPECT_NE(late.WaitFor([](auto& s) { return s.directives.size() == 1; }), nullptr);
}

TEST_F(ZookeeperRegistryTest, ManyWritersOfDirectivesLoseNothing) {
  constexpr int kWriters = 4, kEach = 25;
  std::vector<std::thread> writers;
  std::atomic<int> failed{0};
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w, registry = Open()] {
      for (int i = 0; i < kEach; ++i) {
        const std::string key = absl::StrCat("k", w * kEach + i);
        const auto set = [&](const std::string& value) {
          return Eventually([&] { return registry->SetDirective(kService, key, value).ok(); });
        };
        if (!set("v")) ++failed;
        // Removals must not take another's along either.
        if (i % 5 == 0 && !set("")) ++failed;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failed, 0);
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  EXPECT_NE(
      recorder.WaitFor([](auto& s) { return s.directives.size() == kWriters * kEach * 4 / 5; }),
      nullptr);
}

TEST_F(ZookeeperRegistryTest, BadDirectivesAreToldOnceAVersionAndThoseBeforeStay) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_TRUE(registry->SetDirective(kService, "level", "degraded").ok());
  ASSERT_NE(recorder.WaitFor([](auto& s) { return s.directives.size() == 1; }), nullptr);
  OperatorClient client(server_.port());
  ASSERT_EQ(client.Set(Folder("directives"), "{ not json"), ZOK);
  ASSERT_TRUE(Eventually([&] { return registry->state().bad_entries == 1; }));
  auto lease = Register(*registry, kA);
  auto list = recorder.WaitForEndpoints({kA});
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->directives, (Directives{{"level", "degraded"}}));
  EXPECT_EQ(registry->state().bad_entries, 1u);
  const absl::Status refused = registry->SetDirective(kService, "level", "normal");
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("mend it, or delete it"));
  ASSERT_EQ(client.Set(Folder("directives"), "worse"), ZOK);
  ASSERT_TRUE(Eventually([&] { return registry->state().bad_entries == 2; }));
  ASSERT_EQ(client.Delete(Folder("directives")), ZOK);
  EXPECT_NE(recorder.WaitFor([](auto& s) { return s.directives.empty(); }), nullptr);
  EXPECT_TRUE(registry->SetDirective(kService, "level", "normal").ok());
}

TEST_F(ZookeeperRegistryTest, DirectivesOutliveWhoSetThemAndAServersRestart) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_TRUE(Open()->SetDirective(kService, "level", "degraded").ok());
  ASSERT_NE(recorder.WaitFor([](auto& s) { return s.directives.size() == 1; }), nullptr);
  server_.Stop();
  auto kept = recorder.WaitForSource(Source::kKept);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->directives.size(), 1u);
  ASSERT_TRUE(server_.Start());
  auto back = recorder.WaitForSource(Source::kRegistry);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->directives.size(), 1u);
}

TEST_F(ZookeeperRegistryTest, AnExpiredSessionIsReplacedAndItsEntryIsThereOnce) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto lease = Register(*registry, kA);
  ASSERT_NE(recorder.WaitForEndpoints({kA}), nullptr);
  OperatorClient client(server_.port());
  std::set<int64_t> sessions;
  for (int i = 0; i < 3; ++i) {
    const int64_t session = client.EphemeralOwner(PathOf(kA));
    ASSERT_TRUE(sessions.insert(session).second);
    // The two owners of the session take the connection from each other, and the wrong one may be
    // quicker.
    ASSERT_TRUE(Eventually([&] {
      ExpireSession(server_.port(), session);
      return client.EphemeralOwner(PathOf(kA)) != session;
    }));
    ASSERT_TRUE(Eventually([&] {
      const int64_t owner = client.EphemeralOwner(PathOf(kA));
      return owner != 0 && owner != session && lease->registered();
    }));
  }
  // Watches live on in the new session.
  auto b = StartProvider(kB);
  EXPECT_NE(recorder.WaitForEndpoints({kA, kB}), nullptr);
  EXPECT_THAT(client.Children(Folder("providers")), SizeIs(2));
}

TEST_F(ZookeeperRegistryTest, ADeletedEntryComesBackAndIsCounted) {
  auto registry = Open();
  auto lease = Register(*registry, kA);
  OperatorClient client(server_.port());
  ASSERT_EQ(client.Delete(PathOf(kA)), ZOK);
  EXPECT_TRUE(Eventually([&] { return client.Exists(PathOf(kA)); }));
  EXPECT_TRUE(Eventually([&] { return lease->registered(); }));
  EXPECT_EQ(registry->state().repaired_entries, 1u);
}

TEST_F(ZookeeperRegistryTest, AForeignNodeInItsPlaceIsReplaced) {
  Settings settings = MakeSettings();
  settings.registry.audit_interval = absl::Milliseconds(200);
  auto registry = Open(settings);
  auto lease = Register(*registry, kA);
  OperatorClient client(server_.port());
  // Whatever order the two clients get their turns in, in the end the node is the registry's.
  client.Delete(PathOf(kA));
  client.Create(PathOf(kA), "someone else's");
  EXPECT_TRUE(
      Eventually([&] { return client.EphemeralOwner(PathOf(kA)) != 0 && lease->registered(); }));
  EXPECT_THAT(client.Get(PathOf(kA)), HasSubstr(kA));
}

TEST_F(ZookeeperRegistryTest, AStaleNodeOfAFormerLifeIsReplaced) {
  auto former = StartProvider(kA);
  OperatorClient client(server_.port());
  const int64_t stale = client.EphemeralOwner(PathOf(kA));
  former->Kill(SIGKILL);
  former->Wait();
  ASSERT_EQ(client.EphemeralOwner(PathOf(kA)), stale);
  auto registry = Open();
  auto lease = Register(*registry, kA);
  const int64_t owner = client.EphemeralOwner(PathOf(kA));
  EXPECT_NE(owner, stale);
  // Nor does the end of the former session take the new node along.
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_TRUE(Eventually([&] {
    const std::string sessions = server_.Ask("dump");
    return !sessions.empty() && !absl::StrContains(sessions, absl::StrCat("0x", absl::Hex(stale)));
  }));
  EXPECT_EQ(client.EphemeralOwner(PathOf(kA)), owner);
  EXPECT_THAT(EndpointsOf(*recorder.last()), ElementsAre(kA));
  EXPECT_EQ(registry->state().repaired_entries, 0u);
}

TEST_F(ZookeeperRegistryTest, AnOutageKeepsTheListAndEndsByItself) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto lease = Register(*registry, kA);
  auto b = StartProvider(kB);
  ASSERT_NE(recorder.WaitForEndpoints({kA, kB}), nullptr);

  server_.Stop();
  auto kept = recorder.WaitForSource(Source::kKept);
  ASSERT_NE(kept, nullptr);
  EXPECT_THAT(EndpointsOf(*kept), ElementsAre(kA, kB));
  EXPECT_EQ(registry->state().connection, Connection::kLost);
  EXPECT_THAT(registry->state().detail, HasSubstr("no server of 127.0.0.1"));
  EXPECT_FALSE(lease->registered());
  auto late = registry->Register(kService, MakeInstance("127.0.0.1:3"));
  // Longer than the session lives.
  ASSERT_TRUE(
      Eventually([&] { return Clock::Real().Now() - registry->state().since > absl::Seconds(4); }));
  EXPECT_THAT(EndpointsOf(*recorder.last()), ElementsAre(kA, kB));

  ASSERT_TRUE(server_.Start());
  EXPECT_NE(recorder.WaitFor(
                [](auto& s) { return s.source == Source::kRegistry && s.instances.size() == 3; }),
            nullptr);
  EXPECT_TRUE(Eventually([&] { return lease->registered() && (*late)->registered(); }));
  EXPECT_EQ(registry->state().connection, Connection::kConnected);
  auto fourth = StartProvider("127.0.0.1:4");
  EXPECT_NE(recorder.WaitFor([](auto& s) { return s.instances.size() == 4; }), nullptr);
}

TEST_F(ZookeeperRegistryTest, AServerThatLostItsDiskIsFilledAgain) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto lease = Register(*registry, kA);
  auto b = StartProvider(kB);
  ASSERT_NE(recorder.WaitForEndpoints({kA, kB}), nullptr);
  server_.Stop();
  server_.WipeDisk();
  ASSERT_TRUE(server_.Start());
  OperatorClient client(server_.port());
  EXPECT_TRUE(Eventually([&] { return client.Children(Folder("providers")).size() == 2; }));
  EXPECT_NE(recorder.WaitFor(
                [](auto& s) { return s.source == Source::kRegistry && s.instances.size() == 2; }),
            nullptr);
  // At no time was the list shorter.
  EXPECT_TRUE(lease->registered());
}

TEST_F(ZookeeperRegistryTest, ADeletedServiceIsNotBelievedToBeEmpty) {
  // A provider that cannot come back, so that the list stays empty.
  auto a = StartProvider(kA);
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({kA}), nullptr);
  a->Kill(SIGSTOP);
  OperatorClient client(server_.port());
  ASSERT_EQ(client.DeleteAll("/tests/chroot"), ZOK);
  auto kept = recorder.WaitForSource(Source::kKept);
  ASSERT_NE(kept, nullptr);
  EXPECT_THAT(EndpointsOf(*kept), ElementsAre(kA));
  // And what comes then is seen, though all nodes were made anew.
  a->Kill(SIGCONT);
  EXPECT_NE(recorder.WaitForSource(Source::kRegistry), nullptr);
  auto lease = Register(*registry, kB);
  EXPECT_NE(recorder.WaitForEndpoints({kA, kB}), nullptr);
}

TEST_F(ZookeeperRegistryTest, EmptyProtectionAgesOut) {
  Settings settings = MakeSettings();
  settings.registry.empty_protection = absl::Milliseconds(500);
  auto a = StartProvider(kA);
  auto registry = Open(settings);
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({kA}), nullptr);
  a->Kill(SIGKILL);
  ASSERT_NE(recorder.WaitForSource(Source::kKept), nullptr);
  EXPECT_NE(recorder.WaitForEndpoints({}), nullptr);
}

TEST_F(ZookeeperRegistryTest, GarbageCostsItsNodeAndIsCountedOnceAVersion) {
  auto registry = Open();
  auto lease = Register(*registry, kA);
  OperatorClient client(server_.port());
  ASSERT_EQ(client.Create(PathOf(kB), std::string("\xff\x00{", 3)), ZOK);
  ASSERT_EQ(client.Create(PathOf("no-endpoint"), "{}"), ZOK);
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({kA}), nullptr);
  EXPECT_EQ(registry->state().bad_entries, 2u);
  auto c = Register(*registry, "127.0.0.1:3");
  ASSERT_NE(recorder.WaitForEndpoints({kA, "127.0.0.1:3"}), nullptr);
  EXPECT_EQ(registry->state().bad_entries, 2u);
  // An operator mends it.
  ASSERT_EQ(client.Set(PathOf(kB), R"({"endpoint": "127.0.0.1:2", "weight": 9, "future": 1})"),
            ZOK);
  auto mended = recorder.WaitForEndpoints({kA, kB, "127.0.0.1:3"});
  ASSERT_NE(mended, nullptr);
  EXPECT_EQ(mended->instances[1].weight, 9);
  EXPECT_EQ(client.Set(PathOf(kB), "worse"), ZOK);
  EXPECT_NE(recorder.WaitForEndpoints({kA, "127.0.0.1:3"}), nullptr);
  EXPECT_EQ(registry->state().bad_entries, 3u);
}

TEST_F(ZookeeperRegistryTest, AColdStartWithoutServersUsesTheListOnDisk) {
  Settings settings = MakeSettings();
  settings.registry.snapshot_dir = temporary_ / "snapshots";
  auto a = StartProvider(kA);
  {
    auto registry = Open(settings);
    Recorder recorder;
    auto subscription = registry->Subscribe(kService, recorder.listener());
    ASSERT_NE(recorder.WaitForEndpoints({kA}), nullptr);
  }
  server_.Stop();
  auto registry = Open(settings);
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto cold = recorder.WaitForEndpoints({kA});
  ASSERT_NE(cold, nullptr);
  EXPECT_EQ(cold->source, Source::kDisk);
  ASSERT_TRUE(server_.Start());
  EXPECT_NE(recorder.WaitForSource(Source::kRegistry), nullptr);
  EXPECT_THAT(EndpointsOf(*recorder.last()), ElementsAre(kA));
}

TEST_F(ZookeeperRegistryTest, WithAclOnlyItsUserMayWriteAndAllMayRead) {
  Settings settings = MakeSettings();
  settings.registry.auth = "marpc:secret";
  settings.registry.acl = true;
  auto registry = Open(settings);
  auto lease = Register(*registry, kA);
  ASSERT_TRUE(registry->SetGray(kService, *Endpoint::Parse(kA), true).ok());
  OperatorClient stranger(server_.port());
  EXPECT_EQ(stranger.Set(PathOf(kA), "{}"), ZNOAUTH);
  EXPECT_EQ(stranger.Delete(PathOf(kA)), ZNOAUTH);
  EXPECT_EQ(stranger.Create(Folder("providers") + "/x", ""), ZNOAUTH);
  EXPECT_THAT(stranger.Get(PathOf(kA)), HasSubstr(kA));
  OperatorClient user(server_.port(), 0, "marpc:secret");
  EXPECT_EQ(user.Set(PathOf(kA), user.Get(PathOf(kA))), ZOK);

  // Without the user, a consumer reads, and a provider is told why it cannot enter.
  auto others = Open();
  Recorder recorder;
  auto subscription = others->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({kA}), nullptr);
  EXPECT_THAT(others->SetGray(kService, *Endpoint::Parse(kB), true).message(),
              HasSubstr("registry.auth"));
  auto refused = others->Register(kService, MakeInstance(kB));
  EXPECT_FALSE((*refused)->registered());
  ASSERT_TRUE(lease->Release(absl::Seconds(10)).ok());
  EXPECT_NE(recorder.WaitForEndpoints({}), nullptr);
}

TEST_F(ZookeeperRegistryTest, CloseIsBoundedWithoutAServer) {
  for (const bool paused : {true, false}) {
    auto registry = Open();
    Recorder recorder;
    auto subscription = registry->Subscribe(kService, recorder.listener());
    auto lease = Register(*registry, kA);
    if (paused) {
      server_.Pause();
    } else {
      server_.Stop();
    }
    const auto start = std::chrono::steady_clock::now();
    registry->Close();
    registry->Close();
    // Not a matter of speed: without its bound, it would wait for the server for ever.
    EXPECT_LT(std::chrono::steady_clock::now() - start, kDeadline / 3);
    EXPECT_FALSE(lease->registered());
    if (paused) server_.Resume();
  }
}

TEST_F(ZookeeperRegistryTest, CloseDeregistersAtOnce) {
  auto consumers = Open();
  Recorder recorder;
  auto subscription = consumers->Subscribe(kService, recorder.listener());
  auto providers = Open();
  auto lease = Register(*providers, kA);
  ASSERT_NE(recorder.WaitForEndpoints({kA}), nullptr);
  providers->Close();
  auto empty = recorder.WaitForEndpoints({});
  ASSERT_NE(empty, nullptr);
  EXPECT_EQ(empty->source, Source::kRegistry);
}

TEST_F(ZookeeperRegistryTest, AMarkWithoutAServerIsRefusedInTimeAndNotMadeLater) {
  Settings settings = MakeSettings();
  settings.registry.connect_timeout = absl::Milliseconds(200);
  auto registry = Open(settings);
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({}), nullptr);
  server_.Stop();
  ASSERT_TRUE(Eventually([&] { return registry->state().connection == Connection::kLost; }));
  const absl::Status refused = registry->SetGray(kService, *Endpoint::Parse(kA), true);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("no server of"));
  ASSERT_TRUE(server_.Start());
  auto lease = Register(*registry, kA);
  ASSERT_NE(recorder.WaitForEndpoints({kA}), nullptr);
  EXPECT_THAT(recorder.last()->gray_marks, IsEmpty());
}

TEST_F(ZookeeperRegistryTest, ManyProvidersAtOnceAreAllSeen) {
  auto providers = Open();
  auto consumers = Open();
  Recorder recorder;
  auto subscription = consumers->Subscribe(kService, recorder.listener());
  std::vector<std::unique_ptr<Lease>> leases;
  for (int i = 0; i < 1000; ++i) {
    leases.push_back(
        *providers->Register(kService, MakeInstance("127.0.0.1:" + std::to_string(10'000 + i))));
  }
  ASSERT_NE(recorder.WaitFor([](auto& s) { return s.instances.size() == 1000; }), nullptr);
  // Bursts are read together, not one by one.
  EXPECT_LT(recorder.count(), 500);
}

TEST(ZookeeperRegistryWithoutServerTest, StartsAndSaysWhatIsWrong) {
  Settings settings;
  settings.registry.address = "zookeeper://127.0.0.1:1";
  settings.registry.session_timeout = absl::Seconds(2);
  auto registry = *OpenRegistry(settings);
  auto lease = registry->Register(kService, MakeInstance(kA));
  EXPECT_TRUE(Eventually([&] { return registry->state().connection == Connection::kLost; }));
  EXPECT_THAT(registry->state().detail, HasSubstr("127.0.0.1:1"));
  EXPECT_FALSE((*lease)->registered());
}

TEST(ZookeeperRegistryWithoutServerTest, AclNeedsAUserAndItsSecretStaysOne) {
  Settings settings;
  settings.registry.address = "zookeeper://127.0.0.1:1";
  settings.registry.acl = true;
  EXPECT_THAT(OpenRegistry(settings).status().message(), HasSubstr("registry.auth"));
  settings.registry.auth = "hunter2";
  const auto bad = OpenRegistry(settings);
  EXPECT_THAT(bad.status().message(), HasSubstr("user:password"));
  EXPECT_THAT(bad.status().message(), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace marpc
