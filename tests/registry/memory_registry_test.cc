#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "marpc/registry/memory/memory_hub.h"
#include "marpc/registry/record.h"
#include "marpc/registry/registry.h"
#include "marpc/registry/snapshot_store.h"
#include "tests/registry/registry_fixture.h"
#include "tests/support/temporary_folder.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Source = ServiceSnapshot::Source;

class MemoryRegistryTest : public testing::Test {
 protected:
  Settings MakeSettings() const {
    Settings settings;
    settings.registry.address = "memory:" + name_;
    settings.registry.connect_timeout = absl::Milliseconds(200);
    return settings;
  }
  std::shared_ptr<Registry> Open() const { return *OpenRegistry(MakeSettings()); }

  const std::string name_ = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::shared_ptr<MemoryHub> hub_ = MemoryHub::Named(name_);
};

TEST_F(MemoryRegistryTest, AnEmptyListIsToldAtOnce) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto snapshot = recorder.WaitForEndpoints({});
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(snapshot->service, kService);
  EXPECT_EQ(snapshot->source, Source::kRegistry);
}

TEST_F(MemoryRegistryTest, RegistriesOfOneNameSeeEachOther) {
  auto providers = Open();
  auto consumers = Open();
  Recorder recorder;
  auto subscription = consumers->Subscribe(kService, recorder.listener());
  Instance b = MakeInstance("127.0.0.1:2");
  b.weight = 7;
  b.tags = {"x", "y"};
  b.metadata["k"] = "v";
  b.gray = true;
  auto lease_b = providers->Register(kService, b);
  auto lease_a = providers->Register(kService, MakeInstance("[::1]:1"));
  auto lease_c = providers->Register(kService, MakeInstance("unix:/tmp/c"));
  auto snapshot = recorder.WaitForEndpoints({"127.0.0.1:2", "[::1]:1", "unix:/tmp/c"});
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(snapshot->instances[0].weight, 7);
  EXPECT_THAT(snapshot->instances[0].tags, ElementsAre("x", "y"));
  EXPECT_EQ(snapshot->instances[0].metadata.at("k"), "v");
  EXPECT_TRUE(snapshot->instances[0].gray);
  EXPECT_FALSE(snapshot->instances[0].owner.empty());
  EXPECT_NE(snapshot->instances[0].owner, snapshot->instances[1].owner);
  EXPECT_TRUE((*lease_a)->registered());
}

TEST_F(MemoryRegistryTest, ReleaseTakesTheEntryAwayAndIsIdempotent) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  EXPECT_TRUE((*lease)->Release(absl::Seconds(10)).ok());
  EXPECT_TRUE((*lease)->Release(absl::Seconds(10)).ok());
  EXPECT_FALSE((*lease)->registered());
  auto snapshot = recorder.WaitForEndpoints({});
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(snapshot->source, Source::kRegistry);
  EXPECT_EQ((*lease)->Update(MakeInstance("127.0.0.1:1")).code(),
            absl::StatusCode::kFailedPrecondition);
}

// A program that gives up where it hears of a change.
TEST_F(MemoryRegistryTest, AListenerMayCloseTheRegistry) {
  auto registry = Open();
  absl::Notification closed;
  auto subscription = registry->Subscribe(kService, [&](const auto&) {
    if (closed.HasBeenNotified()) return;
    registry->Close();
    closed.Notify();
  });
  ASSERT_TRUE(closed.WaitForNotificationWithTimeout(absl::Seconds(30)));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      registry->Register(kService, MakeInstance("127.0.0.1:1")).status()));
}

TEST_F(MemoryRegistryTest, DestroyingTheLeaseDeregisters) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  { auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1")); }
  auto again = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  ASSERT_TRUE(again.ok());
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  again->reset();
  EXPECT_NE(recorder.WaitForEndpoints({}), nullptr);
}

TEST_F(MemoryRegistryTest, UpdateChangesTheEntryInPlace) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  Instance instance = MakeInstance("127.0.0.1:1");
  auto lease = registry->Register(kService, instance);
  instance.weight = 0;
  ASSERT_TRUE((*lease)->Update(instance).ok());
  EXPECT_NE(recorder.WaitFor([](const ServiceSnapshot& s) {
    return s.instances.size() == 1 && s.instances[0].weight == 0;
  }),
            nullptr);
  EXPECT_THAT((*lease)->Update(MakeInstance("127.0.0.1:9")).message(),
              HasSubstr("release the lease"));
}

TEST_F(MemoryRegistryTest, WhatNoEntryCanHaveIsRefused) {
  auto registry = Open();
  EXPECT_EQ(registry->Register("a/b", MakeInstance("127.0.0.1:1")).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(registry->Register(kService, Instance()).status().code(),
            absl::StatusCode::kInvalidArgument);
  Instance bad = MakeInstance("127.0.0.1:1");
  bad.weight = -1;
  EXPECT_THAT(registry->Register(kService, bad).status().message(), HasSubstr("weight -1"));
  bad = MakeInstance("127.0.0.1:1");
  bad.zone = "\xff\xfe";
  EXPECT_THAT(registry->Register(kService, bad).status().message(), HasSubstr("UTF-8"));
  bad = MakeInstance("127.0.0.1:1");
  bad.metadata["k"] = std::string(300'000, 'x');
  EXPECT_THAT(registry->Register(kService, bad).status().message(), HasSubstr("limit"));
  EXPECT_EQ(registry->Subscribe("", [](auto) {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(registry->Subscribe(kService, nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(MemoryRegistryTest, OneEndpointHasOneLease) {
  auto registry = Open();
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  EXPECT_EQ(registry->Register(kService, MakeInstance("127.0.0.1:1")).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(registry->Register("other.Service", MakeInstance("127.0.0.1:1")).ok());
}

TEST_F(MemoryRegistryTest, GrayMarksComeAndGoForEveryone) {
  auto operators = Open();
  auto consumers = Open();
  Recorder recorder;
  auto subscription = consumers->Subscribe(kService, recorder.listener());
  const Endpoint a = *Endpoint::Parse("127.0.0.1:1");
  const Endpoint b = *Endpoint::Parse("127.0.0.1:2");
  ASSERT_TRUE(operators->SetGray(kService, a, true).ok());
  ASSERT_TRUE(operators->SetGray(kService, b, true).ok());
  EXPECT_NE(recorder.WaitFor([&](auto& s) {
    return s.gray_marks == std::set<Endpoint>{a, b};
  }),
            nullptr);
  ASSERT_TRUE(operators->SetGray(kService, a, false).ok());
  EXPECT_NE(recorder.WaitFor([&](auto& s) { return s.gray_marks == std::set<Endpoint>{b}; }),
            nullptr);
  ASSERT_TRUE(operators->ClearGray(kService).ok());
  EXPECT_NE(recorder.WaitFor([&](auto& s) { return s.gray_marks.empty(); }), nullptr);
}

TEST_F(MemoryRegistryTest, DirectivesComeAndGoForEveryone) {
  auto operators = Open();
  auto consumers = Open();
  Recorder recorder;
  auto subscription = consumers->Subscribe(kService, recorder.listener());
  ASSERT_TRUE(operators->SetDirective(kService, "level", "degraded").ok());
  ASSERT_TRUE(operators->SetDirective(kService, "breaker:demo.HelloService", "DISABLED").ok());
  EXPECT_NE(recorder.WaitFor([](auto& s) {
    return s.directives ==
           Directives{{"level", "degraded"}, {"breaker:demo.HelloService", "DISABLED"}};
  }),
            nullptr);
  ASSERT_TRUE(operators->SetDirective(kService, "level", "").ok());
  EXPECT_NE(recorder.WaitFor([](auto& s) { return s.directives.size() == 1; }), nullptr);
  EXPECT_EQ(operators->SetDirective("a/b", "level", "normal").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(operators->SetDirective(kService, "", "normal").code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(MemoryRegistryTest, AnOutageKeepsDirectivesAndRefusesNewOnes) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_TRUE(registry->SetDirective(kService, "level", "degraded").ok());
  ASSERT_NE(recorder.WaitFor([](auto& s) { return s.directives.size() == 1; }), nullptr);
  hub_->SetReachable(false);
  auto kept = recorder.WaitForSource(Source::kKept);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->directives.size(), 1u);
  EXPECT_EQ(registry->SetDirective(kService, "level", "").code(), absl::StatusCode::kUnavailable);
  hub_->SetReachable(true);
  ASSERT_NE(recorder.WaitForSource(Source::kRegistry), nullptr);
  EXPECT_EQ(recorder.last()->directives.size(), 1u) << "its caller was refused";
}

TEST_F(MemoryRegistryTest, TheConsumersOfAServiceAreNeitherHeldNorWrittenDown) {
  const TemporaryFolder temporary;
  Settings settings = MakeSettings();
  settings.registry.snapshot_dir = temporary / "snapshots";
  const std::string consumers = ConsumersListOf(kService);
  {
    auto registry = *OpenRegistry(settings);
    Recorder of_consumers, of_service;
    auto one = registry->Subscribe(consumers, of_consumers.listener());
    auto other = registry->Subscribe(kService, of_service.listener());
    auto lease = registry->Register(consumers, MakeInstance("unix:/a"));
    auto provider = registry->Register(kService, MakeInstance("127.0.0.1:1"));
    ASSERT_NE(of_consumers.WaitForEndpoints({"unix:/a"}), nullptr);
    ASSERT_NE(of_service.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
    hub_->SetListsEmpty(true);
    EXPECT_NE(of_consumers.WaitForEndpoints({}), nullptr);
    EXPECT_NE(of_service.WaitForSource(Source::kKept), nullptr);
  }
  const SnapshotStore store(settings.registry.snapshot_dir, settings.env);
  EXPECT_TRUE(store.Read(kService).has_value());
  EXPECT_FALSE(store.Read(consumers).has_value());
}

TEST_F(MemoryRegistryTest, AnOutageKeepsTheListAndEndsByItself) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);

  hub_->SetReachable(false);
  auto kept = recorder.WaitForSource(Source::kKept);
  ASSERT_NE(kept, nullptr);
  EXPECT_THAT(EndpointsOf(*kept), ElementsAre("127.0.0.1:1"));
  EXPECT_EQ(registry->state().connection, RegistryState::Connection::kLost);
  EXPECT_FALSE((*lease)->registered());
  EXPECT_EQ(registry->SetGray(kService, kept->instances[0].endpoint, true).code(),
            absl::StatusCode::kUnavailable);
  // Entered during the outage, it is seen after it.
  auto late = registry->Register(kService, MakeInstance("127.0.0.1:2"));

  hub_->SetReachable(true);
  auto back = recorder.WaitForEndpoints({"127.0.0.1:1", "127.0.0.1:2"});
  ASSERT_NE(back, nullptr);
  EXPECT_NE(recorder.WaitForSource(Source::kRegistry), nullptr);
  EXPECT_TRUE((*lease)->registered());
  // The mark whose caller was refused must not appear.
  EXPECT_TRUE(recorder.last()->gray_marks.empty());
  EXPECT_EQ(registry->state().repaired_entries, 0u);
}

TEST_F(MemoryRegistryTest, AReleaseDuringAnOutageIsDoneAfterIt) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  hub_->SetReachable(false);
  ASSERT_NE(recorder.WaitForSource(Source::kKept), nullptr);
  EXPECT_EQ((*lease)->Release(absl::Milliseconds(20)).code(), absl::StatusCode::kDeadlineExceeded);
  hub_->SetReachable(true);
  EXPECT_NE(recorder.WaitForEndpoints({}), nullptr);
  EXPECT_TRUE((*lease)->Release(absl::Seconds(10)).ok());
}

TEST_F(MemoryRegistryTest, AForgottenEntryIsRepairedAndCounted) {
  auto registry = Open();
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  hub_->ForgetEntry(kService, *Endpoint::Parse("127.0.0.1:1"));
  EXPECT_TRUE(Eventually([&] { return registry->state().repaired_entries == 1; }));
  EXPECT_NE(recorder.WaitForSource(Source::kRegistry), nullptr);
  EXPECT_THAT(EndpointsOf(*recorder.last()), ElementsAre("127.0.0.1:1"));
}

TEST_F(MemoryRegistryTest, AnEmptyListThatNoProviderCausedIsNotBelieved) {
  auto registry = Open();
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  hub_->SetListsEmpty(true);
  auto kept = recorder.WaitForSource(Source::kKept);
  ASSERT_NE(kept, nullptr);
  EXPECT_THAT(EndpointsOf(*kept), ElementsAre("127.0.0.1:1"));
  // Its own word empties it.
  ASSERT_TRUE((*lease)->Release(absl::Seconds(10)).ok());
  EXPECT_NE(recorder.WaitForEndpoints({}), nullptr);
}

TEST_F(MemoryRegistryTest, ABadEntryCostsItselfAndIsCountedOnce) {
  auto registry = Open();
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  hub_->PutRaw(kService, "127.0.0.1:2", "{ not json");
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  ASSERT_TRUE(registry->SetGray(kService, *Endpoint::Parse("127.0.0.1:1"), true).ok());
  ASSERT_NE(recorder.WaitFor([](auto& s) { return s.gray_marks.size() == 1; }), nullptr);
  EXPECT_EQ(registry->state().bad_entries, 1u);
}

TEST_F(MemoryRegistryTest, ASecondSubscriberIsToldWhatIsKnown) {
  auto registry = Open();
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  Recorder first, second;
  auto one = registry->Subscribe(kService, first.listener());
  ASSERT_NE(first.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  auto two = registry->Subscribe(kService, second.listener());
  EXPECT_NE(second.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
}

TEST_F(MemoryRegistryTest, AnEndedSubscriptionIsNotCalled) {
  auto registry = Open();
  Recorder ended, going;
  auto subscription = registry->Subscribe(kService, ended.listener());
  auto other = registry->Subscribe(kService, going.listener());
  ASSERT_NE(ended.WaitForEndpoints({}), nullptr);
  subscription->reset();
  const int before = ended.count();
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  ASSERT_NE(going.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  EXPECT_EQ(ended.count(), before);
}

TEST_F(MemoryRegistryTest, AListenerMayCallTheRegistryAndEndItself) {
  auto registry = Open();
  std::atomic<int> calls{0};
  std::unique_ptr<Subscription> subscription;
  std::mutex ready;
  ready.lock();
  auto subscribed = registry->Subscribe(kService, [&](auto) {
    ready.lock();  // until `subscription` is set
    ready.unlock();
    EXPECT_TRUE(registry->SetGray(kService, *Endpoint::Parse("127.0.0.1:1"), true).ok());
    subscription.reset();
    ++calls;
  });
  subscription = *std::move(subscribed);
  ready.unlock();
  ASSERT_TRUE(Eventually([&] { return calls == 1; }));
  Recorder recorder;
  auto other = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitFor([](auto& s) { return s.gray_marks.size() == 1; }), nullptr);
  EXPECT_EQ(calls, 1);
}

TEST_F(MemoryRegistryTest, AListenerThatThrowsHarmsNoOther) {
  auto registry = Open();
  auto bad = registry->Subscribe(kService, [](auto) { throw std::runtime_error("listener"); });
  Recorder recorder;
  auto good = registry->Subscribe(kService, recorder.listener());
  EXPECT_NE(recorder.WaitForEndpoints({}), nullptr);
}

TEST_F(MemoryRegistryTest, CloseDeregistersAndIsIdempotent) {
  auto providers = Open();
  auto consumers = Open();
  Recorder recorder;
  auto subscription = consumers->Subscribe(kService, recorder.listener());
  auto lease = providers->Register(kService, MakeInstance("127.0.0.1:1"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  providers->Close();
  providers->Close();
  EXPECT_NE(recorder.WaitForEndpoints({}), nullptr);
  EXPECT_FALSE((*lease)->registered());
  EXPECT_TRUE((*lease)->Release(absl::Seconds(1)).ok());
  EXPECT_THAT(providers->Register(kService, MakeInstance("127.0.0.1:2")).status().message(),
              HasSubstr("is closed"));
  EXPECT_EQ(providers->ClearGray(kService).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(MemoryRegistryTest, DroppingTheLastReferenceCloses) {
  auto consumers = Open();
  Recorder recorder;
  auto subscription = consumers->Subscribe(kService, recorder.listener());
  auto providers = Open();
  auto lease = providers->Register(kService, MakeInstance("127.0.0.1:1"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  providers.reset();
  EXPECT_NE(recorder.WaitForEndpoints({}), nullptr);
}

TEST_F(MemoryRegistryTest, ManyThreadsMayRegisterAndSubscribeAtOnce) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  std::vector<std::thread> threads;
  std::atomic<int> port{1000};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        Recorder own;
        auto other = registry->Subscribe(kService, own.listener());
        auto lease = registry->Register(
            kService, MakeInstance("127.0.0.1:" + std::to_string(port.fetch_add(1))));
        EXPECT_TRUE(lease.ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  auto last = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  EXPECT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
}

}  // namespace
}  // namespace marpc
