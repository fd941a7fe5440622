#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "marpc/registry/file/entry_file.h"
#include "marpc/registry/registry.h"
#include "tests/registry/registry_fixture.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace marpc {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Source = ServiceSnapshot::Source;

class FileRegistryTest : public testing::Test {
 protected:
  Settings MakeSettings() const {
    Settings settings;
    settings.registry.address = "file:" + folder_;
    settings.registry.connect_timeout = absl::Seconds(1);
    return settings;
  }
  std::shared_ptr<Registry> Open() const { return *OpenRegistry(MakeSettings()); }
  std::unique_ptr<ChildProcess> StartProvider(const std::string& endpoint) const {
    auto child = std::make_unique<ChildProcess>(
        ChildProcess::Options{{MARPC_REGISTRY_CHILD, "file:" + folder_, kService, endpoint}, ""});
    EXPECT_EQ(child->ReadLine(), "registered");
    return child;
  }
  std::string EntryPath(const std::string& name) const {
    return folder_ + "/dev/" + kService + "/providers/" + name;
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_ / "registry";
};

TEST_F(FileRegistryTest, ProcessesSeeEachOther) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({}), nullptr);
  auto a = StartProvider("127.0.0.1:1");
  auto b = StartProvider("[::1]:2");
  auto c = StartProvider("unix:/tmp/c.sock");
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1", "[::1]:2", "unix:/tmp/c.sock"}), nullptr);
  EXPECT_TRUE(fs::exists(EntryPath("unix:%2Ftmp%2Fc.sock")));
}

TEST_F(FileRegistryTest, AKilledProvidersEntryVanishes) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto a = StartProvider("127.0.0.1:1");
  auto b = StartProvider("127.0.0.1:2");
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1", "127.0.0.1:2"}), nullptr);
  a->Kill(SIGKILL);
  auto snapshot = recorder.WaitForEndpoints({"127.0.0.1:2"});
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(snapshot->source, Source::kRegistry);
  // That a process is dead is known for certain here, so even the last one's death empties the
  // list.
  b->Kill(SIGTERM);
  snapshot = recorder.WaitForEndpoints({});
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(snapshot->source, Source::kRegistry);
  EXPECT_TRUE(Eventually([&] { return !fs::exists(EntryPath("127.0.0.1:2")); }));
}

TEST_F(FileRegistryTest, AStaleFileOfADeadOwnerIsNotListedAndRemoved) {
  auto a = StartProvider("127.0.0.1:1");
  a->Kill(SIGKILL);
  a->Wait();
  ASSERT_TRUE(fs::exists(EntryPath("127.0.0.1:1")));  // nobody was there to see it die
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({}), nullptr);
  EXPECT_FALSE(fs::exists(EntryPath("127.0.0.1:1")));
}

TEST_F(FileRegistryTest, ARestartedProviderTakesItsOldPlace) {
  auto a = StartProvider("127.0.0.1:1");
  a->Kill(SIGKILL);
  a->Wait();
  auto again = StartProvider("127.0.0.1:1");
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  EXPECT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
}

TEST_F(FileRegistryTest, APlaceHeldByALivingProcessIsTakenWhenItDies) {
  auto a = StartProvider("127.0.0.1:1");
  auto registry = Open();
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  ASSERT_TRUE(lease.ok());
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  EXPECT_FALSE((*lease)->registered());
  a->Kill(SIGKILL);
  EXPECT_TRUE(Eventually([&] { return (*lease)->registered(); }));
  EXPECT_NE(recorder.WaitFor(
                [](auto& s) { return s.instances.size() == 1 && s.instances[0].app == "test"; }),
            nullptr);
}

TEST_F(FileRegistryTest, AStoppedProviderIsNoDeadOne) {
  auto a = StartProvider("127.0.0.1:1");
  a->Kill(SIGSTOP);
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  EXPECT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
}

TEST_F(FileRegistryTest, ReleaseAndUpdateAreSeen) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto a = StartProvider("127.0.0.1:1");
  Instance instance = MakeInstance("127.0.0.1:2");
  auto lease = registry->Register(kService, instance);
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1", "127.0.0.1:2"}), nullptr);
  instance.weight = 3;
  ASSERT_TRUE((*lease)->Update(instance).ok());
  ASSERT_NE(recorder.WaitFor(
                [](auto& s) { return s.instances.size() == 2 && s.instances[1].weight == 3; }),
            nullptr);
  EXPECT_TRUE((*lease)->registered());
  a->WriteLine("release");
  EXPECT_EQ(a->ReadLine(), "released");
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:2"}), nullptr);
  ASSERT_TRUE((*lease)->Release(absl::Seconds(10)).ok());
  auto empty = recorder.WaitForEndpoints({});
  ASSERT_NE(empty, nullptr);
  EXPECT_EQ(empty->source, Source::kRegistry);
  EXPECT_EQ(registry->state().repaired_entries, 0u);
}

TEST_F(FileRegistryTest, GrayMarksAreFiles) {
  auto registry = Open();
  auto other = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  const Endpoint a = *Endpoint::Parse("unix:/tmp/a");
  ASSERT_TRUE(other->SetGray(kService, a, true).ok());
  ASSERT_NE(recorder.WaitFor([&](auto& s) { return s.gray_marks.contains(a); }), nullptr);
  ASSERT_TRUE(other->SetGray(kService, a, false).ok());
  ASSERT_TRUE(other->SetGray(kService, a, false).ok());
  ASSERT_NE(recorder.WaitFor([&](auto& s) { return s.gray_marks.empty(); }), nullptr);
  // An operator's own hand does it too.
  std::ofstream(folder_ + "/dev/" + kService + "/gray/127.0.0.1:5") << "";
  ASSERT_NE(recorder.WaitFor([&](auto& s) { return s.gray_marks.size() == 1; }), nullptr);
  ASSERT_TRUE(other->ClearGray(kService).ok());
  EXPECT_NE(recorder.WaitFor([&](auto& s) { return s.gray_marks.empty(); }), nullptr);
}

TEST_F(FileRegistryTest, DirectivesAreOneFile) {
  auto registry = Open();
  auto other = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  const std::string path = folder_ + "/dev/" + kService + "/directives";
  ASSERT_TRUE(other->SetDirective(kService, "level", "degraded").ok());
  ASSERT_TRUE(other->SetDirective(kService, "level", "degraded").ok());
  ASSERT_NE(recorder.WaitFor([](auto& s) {
    return s.directives == Directives{{"level", "degraded"}};
  }),
            nullptr);
  // An operator's own hand does it too.
  std::ofstream(path) << R"({"directives": {"level": "core-only"}})";
  ASSERT_NE(recorder.WaitFor([](auto& s) {
    return s.directives == Directives{{"level", "core-only"}};
  }),
            nullptr);
  ASSERT_TRUE(other->SetDirective(kService, "level", "").ok());
  ASSERT_TRUE(other->SetDirective(kService, "level", "").ok());
  ASSERT_NE(recorder.WaitFor([](auto& s) { return s.directives.empty(); }), nullptr);
  EXPECT_FALSE(fs::exists(path));
  // And who comes later is told.
  ASSERT_TRUE(other->SetDirective(kService, "level", "normal").ok());
  auto third = Open();
  Recorder late;
  auto its = third->Subscribe(kService, late.listener());
  EXPECT_NE(late.WaitFor([](auto& s) { return s.directives.size() == 1; }), nullptr);
}

TEST_F(FileRegistryTest, ManyWritersOfDirectivesLoseNothing) {
  constexpr int kWriters = 4, kEach = 25;
  std::vector<std::thread> writers;
  std::atomic<int> failed{0};
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w, registry = Open()] {
      for (int i = 0; i < kEach; ++i) {
        const std::string key = "k" + std::to_string(w * kEach + i);
        // One that found the lock taken for too long is told so, and tries again.
        if (!Eventually([&] { return registry->SetDirective(kService, key, "v").ok(); })) ++failed;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failed, 0);
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  EXPECT_NE(recorder.WaitFor([](auto& s) { return s.directives.size() == kWriters * kEach; }),
            nullptr);
}

TEST_F(FileRegistryTest, AChangeThatCannotBeMadeInTimeIsGivenUpBeforeItsCallerIs) {
  auto registry = Open();
  ASSERT_TRUE(registry->SetDirective(kService, "level", "degraded").ok());
  const std::string lock = folder_ + "/dev/" + kService + "/.directives.lock";
  const UniqueFd held(open(lock.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
  const absl::Status refused = registry->SetDirective(kService, "level", "normal");
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted) << refused;
}

TEST_F(FileRegistryTest, BadDirectivesAreToldOnceAndThoseBeforeStay) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_TRUE(registry->SetDirective(kService, "level", "degraded").ok());
  ASSERT_NE(recorder.WaitFor([](auto& s) { return s.directives.size() == 1; }), nullptr);
  const std::string path = folder_ + "/dev/" + kService + "/directives";
  std::ofstream(path) << "{ not json";
  ASSERT_TRUE(Eventually([&] { return registry->state().bad_entries == 1; }));
  // A change beside it is seen, and the directives are still those from before.
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  auto list = recorder.WaitForEndpoints({"127.0.0.1:1"});
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->directives, (Directives{{"level", "degraded"}}));
  EXPECT_EQ(registry->state().bad_entries, 1u);
  const absl::Status refused = registry->SetDirective(kService, "level", "normal");
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("mend it, or delete it"));
  fs::remove(path);
  EXPECT_NE(recorder.WaitFor([](auto& s) { return s.directives.empty(); }), nullptr);
  EXPECT_TRUE(registry->SetDirective(kService, "level", "normal").ok());
}

TEST_F(FileRegistryTest, DirectivesThatNobodyCanReadKeepNobodyFromTheList) {
  const std::string path = folder_ + "/dev/" + kService + "/directives";
  fs::create_directories(path);
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  EXPECT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  EXPECT_EQ(registry->state().bad_entries, 1u);
  fs::remove(path);
  EXPECT_TRUE(registry->SetDirective(kService, "level", "degraded").ok());
  EXPECT_NE(recorder.WaitFor([](auto& s) { return s.directives.size() == 1; }), nullptr);
}

// Whatever the umask of the operator's process.
TEST_F(FileRegistryTest, DirectivesAreForAllUsers) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({}), nullptr);
  const mode_t before = umask(077);
  const absl::Status set = registry->SetDirective(kService, "level", "degraded");
  umask(before);
  ASSERT_TRUE(set.ok()) << set;
  for (const std::string name : {"directives", ".directives.lock"}) {
    const auto permissions = fs::status(folder_ + "/dev/" + kService + "/" + name).permissions();
    EXPECT_NE(permissions & fs::perms::others_read, fs::perms::none) << name;
  }
}

TEST_F(FileRegistryTest, AFolderMovedAwayIsAnOutageAndBackItsEnd) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto a = StartProvider("127.0.0.1:1");
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:2"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1", "127.0.0.1:2"}), nullptr);

  fs::rename(folder_, folder_ + ".away");
  auto kept = recorder.WaitForSource(Source::kKept);
  ASSERT_NE(kept, nullptr);
  EXPECT_THAT(EndpointsOf(*kept), ElementsAre("127.0.0.1:1", "127.0.0.1:2"));
  EXPECT_EQ(registry->state().connection, RegistryState::Connection::kLost);
  EXPECT_THAT(registry->state().detail, HasSubstr(folder_));
  EXPECT_FALSE((*lease)->registered());
  EXPECT_FALSE(fs::exists(folder_));
  // Entered during the outage.
  auto late = registry->Register(kService, MakeInstance("127.0.0.1:3"));

  fs::rename(folder_ + ".away", folder_);
  auto back = recorder.WaitForEndpoints({"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"});
  ASSERT_NE(back, nullptr);
  EXPECT_NE(recorder.WaitForSource(Source::kRegistry), nullptr);
  EXPECT_TRUE(Eventually([&] { return (*lease)->registered(); }));
  EXPECT_EQ(registry->state().repaired_entries, 0u);
  auto b = StartProvider("127.0.0.1:4");
  EXPECT_NE(recorder.WaitFor([](auto& s) { return s.instances.size() == 4; }), nullptr);
}

TEST_F(FileRegistryTest, AFolderAboveMovedAwayIsNoticedToo) {
  const std::string above = temporary_ / "above";
  fs::create_directory(above);
  Settings settings;
  settings.registry.address = "file:" + above + "/registry";
  auto registry = *OpenRegistry(settings);
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:2"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:2"}), nullptr);
  fs::rename(above, above + ".away");
  ASSERT_NE(recorder.WaitForSource(Source::kKept), nullptr);
  fs::rename(above + ".away", above);
  EXPECT_NE(recorder.WaitForSource(Source::kRegistry), nullptr);
}

TEST_F(FileRegistryTest, AFolderRemovedAndMadeAnewIsFilledAgain) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto a = StartProvider("127.0.0.1:1");
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:2"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1", "127.0.0.1:2"}), nullptr);
  fs::remove_all(folder_);
  auto kept = recorder.WaitForSource(Source::kKept);
  ASSERT_NE(kept, nullptr);
  EXPECT_THAT(EndpointsOf(*kept), ElementsAre("127.0.0.1:1", "127.0.0.1:2"));
  EXPECT_FALSE(fs::exists(folder_));
  fs::create_directory(folder_);
  EXPECT_NE(recorder.WaitFor(
                [](auto& s) { return s.source == Source::kRegistry && s.instances.size() == 2; }),
            nullptr);
  EXPECT_TRUE(Eventually([&] { return fs::exists(EntryPath("127.0.0.1:1")); }));
  EXPECT_TRUE(Eventually([&] { return fs::exists(EntryPath("127.0.0.1:2")); }));
}

TEST_F(FileRegistryTest, AServicesFoldersRemovedAreMadeAgainAndNoListIsLost) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:2"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:2"}), nullptr);
  fs::remove_all(folder_ + "/dev");
  EXPECT_TRUE(Eventually([&] { return fs::exists(EntryPath("127.0.0.1:2")); }));
  EXPECT_TRUE(Eventually([&] { return registry->state().repaired_entries == 1; }));
  EXPECT_THAT(EndpointsOf(*recorder.last()), ElementsAre("127.0.0.1:2"));
  auto a = StartProvider("127.0.0.1:1");
  EXPECT_NE(recorder.WaitForEndpoints({"127.0.0.1:1", "127.0.0.1:2"}), nullptr);
}

TEST_F(FileRegistryTest, ADeletedEntryComesBackAndIsCounted) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:2"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:2"}), nullptr);
  fs::remove(EntryPath("127.0.0.1:2"));
  EXPECT_TRUE(Eventually([&] { return fs::exists(EntryPath("127.0.0.1:2")); }));
  EXPECT_EQ(registry->state().repaired_entries, 1u);
  EXPECT_TRUE((*lease)->registered());
}

TEST_F(FileRegistryTest, AnEntryReplacedByAForeignFileIsRepaired) {
  auto registry = Open();
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:2"));
  ASSERT_TRUE(Eventually([&] { return (*lease)->registered(); }));
  std::ofstream(temporary_ / "foreign") << "x";
  fs::rename(temporary_ / "foreign", EntryPath("127.0.0.1:2"));
  EXPECT_TRUE(Eventually([&] { return registry->state().repaired_entries == 1; }));
  EXPECT_TRUE(Eventually([&] {
    auto probe = ProbeEntry(EntryPath("127.0.0.1:2"));
    return probe.ok() && probe->alive;
  }));
}

TEST_F(FileRegistryTest, GarbageCostsItselfAndIsCountedOnce) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({}), nullptr);
  // Moved into place, so that the registry cannot see a first version that is still empty.
  std::ofstream(temporary_ / "garbage") << std::string(1000, '\xff');
  fs::rename(temporary_ / "garbage", EntryPath("127.0.0.1:9"));
  fs::create_directory(EntryPath("a-folder"));
  ASSERT_TRUE(Eventually([&] { return registry->state().bad_entries == 1; }));
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:2"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:2"}), nullptr);
  EXPECT_EQ(registry->state().bad_entries, 1u);
  EXPECT_TRUE(fs::exists(EntryPath("127.0.0.1:9")));
}

TEST_F(FileRegistryTest, AFolderThatCannotBeMadeIsAnOutageWithItsReason) {
  std::ofstream(temporary_ / "file") << "";
  Settings settings = MakeSettings();
  settings.registry.address = "file:" + (temporary_ / "file") + "/below";
  auto registry = OpenRegistry(settings);
  ASSERT_TRUE(registry.ok());
  ASSERT_TRUE(Eventually(
      [&] { return (*registry)->state().connection == RegistryState::Connection::kLost; }));
  EXPECT_THAT((*registry)->state().detail, HasSubstr("file/below"));
  auto lease = (*registry)->Register(kService, MakeInstance("127.0.0.1:2"));
  fs::remove(temporary_ / "file");
  fs::create_directory(temporary_ / "file");
  EXPECT_TRUE(Eventually([&] { return (*lease)->registered(); }));
}

TEST_F(FileRegistryTest, AFolderAboveIsNotMade) {
  const std::string above = temporary_ / "no/such/place";
  Settings settings = MakeSettings();
  settings.registry.address = "file:" + above + "/registry";
  auto registry = *OpenRegistry(settings);
  ASSERT_TRUE(
      Eventually([&] { return registry->state().connection == RegistryState::Connection::kLost; }));
  EXPECT_EQ(registry->state().detail, "registry.address: the folder " + above +
                                          " does not exist; create it, or mend the path");
  EXPECT_FALSE(fs::exists(temporary_ / "no"));
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:2"));
  fs::create_directories(above);
  EXPECT_TRUE(Eventually([&] { return (*lease)->registered(); }));
}

TEST_F(FileRegistryTest, OfManyEntriesThoseThatAreGoneAreRepaired) {
  auto registry = Open();
  std::vector<std::unique_ptr<Lease>> leases;
  for (int i = 1; i <= 20; ++i) {
    leases.push_back(*registry->Register(kService, MakeInstance("127.0.0.1:" + std::to_string(i))));
  }
  for (const auto& lease : leases) ASSERT_TRUE(Eventually([&] { return lease->registered(); }));
  for (const char* gone : {"127.0.0.1:3", "127.0.0.1:17"}) fs::remove(EntryPath(gone));
  EXPECT_TRUE(Eventually([&] { return registry->state().repaired_entries == 2; }));
  for (int i = 1; i <= 20; ++i) {
    EXPECT_TRUE(
        Eventually([&] { return fs::exists(EntryPath("127.0.0.1:" + std::to_string(i))); }));
  }
}

TEST_F(FileRegistryTest, AColdStartInAnOutageUsesTheListOnDisk) {
  Settings settings = MakeSettings();
  settings.registry.snapshot_dir = temporary_ / "snapshots";
  auto a = StartProvider("127.0.0.1:1");
  {
    auto registry = *OpenRegistry(settings);
    Recorder recorder;
    auto subscription = registry->Subscribe(kService, recorder.listener());
    ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  }
  fs::remove_all(folder_);
  std::ofstream(folder_) << "in the way";
  auto registry = *OpenRegistry(settings);
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  auto snapshot = recorder.WaitForEndpoints({"127.0.0.1:1"});
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(snapshot->source, Source::kDisk);
}

TEST_F(FileRegistryTest, ManyProcessesMayComeAndGoAtOnce) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<ChildProcess>> children;
    for (int i = 0; i < 6; ++i)
      children.push_back(StartProvider("127.0.0.1:" + std::to_string(i + 1)));
    ASSERT_NE(recorder.WaitFor([](auto& s) { return s.instances.size() == 6; }), nullptr);
    for (auto& child : children) child->Kill(SIGKILL);
    ASSERT_NE(recorder.WaitForEndpoints({}), nullptr);
  }
  EXPECT_EQ(registry->state().bad_entries, 0u);
}

// What the kernel watches for this process: a line a folder.
int WatchedFolders() {
  int count = 0;
  for (const fs::directory_entry& fd : fs::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream info(fd.path());
    for (std::string line; std::getline(info, line);) count += line.rfind("inotify wd:", 0) == 0;
  }
  return count;
}

TEST_F(FileRegistryTest, AServiceThatNobodyNeedsAnyMoreIsNotWatched) {
  auto registry = Open();
  ASSERT_TRUE(Eventually([&] { return WatchedFolders() == 1; }));  // the registry's own folder
  Recorder recorder;
  auto subscription = *registry->Subscribe(kService, recorder.listener());
  ASSERT_NE(recorder.WaitForEndpoints({}), nullptr);
  EXPECT_EQ(WatchedFolders(), 4);  // and the service's, with providers and marks in it
  // An entry needs it as well.
  auto lease = *registry->Register(kService, MakeInstance("127.0.0.1:1"));
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:1"}), nullptr);
  subscription = nullptr;
  ASSERT_TRUE(lease->Release(absl::Seconds(10)).ok());
  ASSERT_TRUE(Eventually([&] { return WatchedFolders() == 1; }));
  // And it can be needed again.
  auto again = *registry->Subscribe(kService, recorder.listener());
  auto other = StartProvider("127.0.0.1:2");
  ASSERT_NE(recorder.WaitForEndpoints({"127.0.0.1:2"}), nullptr);
}

TEST_F(FileRegistryTest, EnvironmentsDoNotSeeEachOther) {
  Settings of_test = MakeSettings();
  of_test.env = "test";
  Settings of_prod = MakeSettings();
  of_prod.env = "prod";
  const auto test = *OpenRegistry(of_test);
  const auto prod = *OpenRegistry(of_prod);
  const auto lease = *test->Register(kService, MakeInstance("127.0.0.1:1"));
  ASSERT_TRUE(Eventually([&] { return lease->registered(); }));
  const Endpoint endpoint = *Endpoint::Parse("127.0.0.1:1");
  ASSERT_TRUE(test->SetGray(kService, endpoint, true).ok());
  Recorder in_test;
  const auto watch_test = *test->Subscribe(kService, in_test.listener());
  const auto seen = in_test.WaitForEndpoints({"127.0.0.1:1"});
  ASSERT_NE(seen, nullptr);
  EXPECT_THAT(seen->gray_marks, ElementsAre(endpoint));
  // Begun when all that is there, the first list of the other environment has none of it.
  Recorder in_prod;
  const auto watch_prod = *prod->Subscribe(kService, in_prod.listener());
  const auto first = in_prod.WaitFor([](const ServiceSnapshot&) { return true; });
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(first->instances.empty());
  EXPECT_TRUE(first->gray_marks.empty());
}

}  // namespace
}  // namespace marpc
