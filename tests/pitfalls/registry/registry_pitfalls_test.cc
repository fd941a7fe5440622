// Registries that fail, are emptied or filled with rubbish while calls go on: none may fail.
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/pitfalls/calls.h"
#include "tests/pitfalls/node.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/zookeeper_server.h"

namespace marpc {
namespace {

namespace fs = std::filesystem;
using testing::Caller;
using testing::Eventually;
using testing::kStyles;
using testing::Node;

// Two providers and calls without retries, on two threads, from its begin to its end.
class Load {
 public:
  explicit Load(const Settings& settings) : settings_(settings) {
    for (int i = 0; i < 2; ++i) AddNode();
    caller_ = std::make_unique<Caller>(settings_);
    EXPECT_TRUE(EveryNodeIsCalled());
    for (int t = 0; t < 2; ++t) {
      threads_.emplace_back([this, t] {
        for (int i = 0; !stop_.load(); ++i) {
          const absl::Status status = caller_->Delay(kStyles[(2 * i + t) % 4]);
          EXPECT_TRUE(status.ok()) << status;
          if (!status.ok()) failed_.fetch_add(1);
        }
      });
    }
  }
  ~Load() {
    stop_.store(true);
    for (std::thread& thread : threads_) thread.join();
    EXPECT_EQ(failed_.load(), 0);
  }

  void AddNode() {
    nodes_.push_back(std::make_unique<Node>(Node::Answer(), settings_, *OpenRegistry(settings_)));
  }
  // From now on, so that what was before does not count.
  bool EveryNodeIsCalled() {
    for (const auto& node : nodes_) {
      const int before = node->arrivals();
      const bool called = Eventually([&] {
        if (threads_.empty()) caller_->Delay().IgnoreError();
        return node->arrivals() > before + 10;
      });
      if (!called) return false;
    }
    return true;
  }
  Consumer& consumer() { return caller_->consumer(); }

 private:
  const Settings settings_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<Caller> caller_;
  std::atomic<bool> stop_{false};
  std::atomic<int> failed_{0};
  std::vector<std::thread> threads_;
};

Settings SettingsOf(const std::string& registry) {
  Settings settings = Node::QuickSettings();
  settings.registry.address = registry;
  settings.registry.session_timeout = absl::Seconds(1);
  return settings;
}

// As others in the same folder may see it: half-written, or not at all.
void Put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(RegistryPitfalls, RubbishInTheFolderOfAFileRegistryHarmsNoCall) {
  TemporaryFolder folder;
  Load load(SettingsOf("file:" + folder.path()));
  const std::string service = folder / "dev/demo.HelloService";
  const std::string providers = service + "/providers/";
  ASSERT_TRUE(fs::exists(providers));
  Put(providers + "127.0.0.1:1", "");
  Put(providers + "127.0.0.1:2", std::string(1000, '\xff'));
  Put(providers + "127.0.0.1:3", std::string(8 << 20, '{'));
  Put(providers + "127.0.0.1:4", R"({"endpoint": 17, "weight": "heavy", "tags": {"a": []}})");
  Put(providers + "127.0.0.1:5", R"({"endpoint": "127.0.0.1:5", "weight": -1})");
  Put(providers + "127.0.0.1:6", R"({"endpoint": "127.0.0.1:1"})");
  Put(providers + "%zz", "{}");
  Put(providers + "no-endpoint", "{}");
  Put(service + "/gray/rubbish", std::string(1000, '\xff'));
  EXPECT_EQ(mkfifo((providers + "127.0.0.1:7").c_str(), 0644), 0);
  fs::create_directory(providers + "127.0.0.1:8");
  fs::create_symlink("127.0.0.1:9", providers + "127.0.0.1:9");
  fs::create_symlink("/dev/zero", providers + "127.0.0.1:10");
  for (int i = 0; i < 1000; ++i) {
    Put(absl::StrCat(providers, "127.3.", i / 100, ".", i % 100, ":1"), "rubbish");
  }
  EXPECT_TRUE(load.EveryNodeIsCalled());
  load.AddNode();
  EXPECT_TRUE(load.EveryNodeIsCalled());
}

TEST(RegistryPitfalls, AFileRegistryThatIsDeletedHarmsNoCall) {
  TemporaryFolder folder;
  Load load(SettingsOf("file:" + folder.path()));
  for (const std::string part :
       {"dev/demo.HelloService/providers", "dev/demo.HelloService", "dev", ""}) {
    // A provider may enter itself again while it goes.
    std::error_code refilled;
    do {
      fs::remove_all(folder / part, refilled);
    } while (refilled == std::errc::directory_not_empty);
    EXPECT_FALSE(refilled) << refilled.message();
    EXPECT_TRUE(load.EveryNodeIsCalled()) << part;
  }
  fs::create_directories(folder.path());
  load.AddNode();
  EXPECT_TRUE(load.EveryNodeIsCalled());
}

// A disk that is full.
TEST(RegistryPitfalls, ASnapshotThatCannotBeWrittenHarmsNoCall) {
  TemporaryFolder folder;
  for (const std::string place : {"/dev/full", "/proc/marpc"}) {
    Settings settings = SettingsOf("file:" + folder.path());
    settings.registry.snapshot_dir = place;
    Load load(settings);
    load.AddNode();
    EXPECT_TRUE(load.EveryNodeIsCalled());
  }
}

// apache/dubbo #5125, #1508, apache/zookeeper PR #2058, kitex-contrib/registry-etcd #11.
TEST(RegistryPitfalls, AZooKeeperThatIsFrozenKilledAndWipedHarmsNoCall) {
  ZookeeperServer server;
  if (!server.available()) GTEST_SKIP() << server.unavailable_because();
  ASSERT_TRUE(server.Start());
  Settings settings = SettingsOf(server.address("/pitfalls"));
  // Long enough for a machine under load: a session that ends while the server is up takes its
  // entry along, and rightly so.
  settings.registry.session_timeout = absl::Seconds(4);
  Load load(settings);
  const auto lost = [&] {
    return load.consumer().registry().state().connection == RegistryState::Connection::kLost;
  };
  const auto back = [&] {
    return load.consumer().registry().state().connection == RegistryState::Connection::kConnected;
  };
  server.Pause();
  EXPECT_TRUE(Eventually(lost));
  EXPECT_TRUE(load.EveryNodeIsCalled());
  server.Resume();
  EXPECT_TRUE(Eventually(back));
  EXPECT_TRUE(load.EveryNodeIsCalled());
  for (const bool wiped : {false, true}) {
    server.Stop();
    EXPECT_TRUE(Eventually(lost));
    EXPECT_TRUE(load.EveryNodeIsCalled());
    if (wiped) server.WipeDisk();
    ASSERT_TRUE(server.Start());
    EXPECT_TRUE(Eventually(back));
    load.AddNode();
    EXPECT_TRUE(load.EveryNodeIsCalled()) << wiped;
  }
}

}  // namespace
}  // namespace marpc
