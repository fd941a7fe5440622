// Faults that users of other frameworks met with discovery: instances that come, go and fail.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "tests/consumer/scripted_registry.h"
#include "tests/pitfalls/calls.h"
#include "tests/pitfalls/node.h"
#include "tests/support/temporary_folder.h"

namespace marpc {
namespace {

using testing::Caller;
using testing::Eventually;
using testing::Gate;
using testing::kHello;
using testing::kStyles;
using testing::Node;
using testing::ScriptedRegistry;
using testing::StaticSettings;
using testing::Style;

// Sockets of this process.
int Sockets() {
  int sockets = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (target.rfind("socket:", 0) == 0) ++sockets;
  }
  return sockets;
}

int Threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    absl::string_view text = line;
    int threads = 0;
    if (absl::ConsumePrefix(&text, "Threads:") && absl::SimpleAtoi(text, &threads)) return threads;
  }
  return -1;
}

ConsumerOptions With(std::shared_ptr<Registry> registry) {
  ConsumerOptions options;
  options.registry = std::move(registry);
  return options;
}

// Accepts connections by the kernel's hand alone, on every address of the loopback.
class MuteListener {
 public:
  MuteListener() {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_, 4096), 0);
    socklen_t size = sizeof address;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~MuteListener() { close(fd_); }
  int port() const { return port_; }

 private:
  int fd_ = -1;
  int port_ = 0;
};

// 250 instances that nobody has seen before, half of which refuse, each called once.
void CallFakes(Caller& caller, ScriptedRegistry& registry, int round, int mute_port) {
  constexpr int kNodes = 250;
  std::vector<Instance> fakes;
  for (int i = 0; i < kNodes; ++i) {
    const int port = i % 2 == 0 ? mute_port : 1;
    fakes.push_back(ScriptedRegistry::At(absl::StrCat("127.1.", round, ".", 1 + i, ":", port)));
  }
  registry.Publish(kHello, fakes);
  CallOptions options;
  options.timeout = absl::Milliseconds(200);
  std::atomic<int> ended{0};
  for (int i = 0; i < kNodes; ++i) {
    caller.client().DelayAsync(
        demo::DelayRequest(),
        [&](auto reply) {
          EXPECT_FALSE(reply.ok());
          ended.fetch_add(1);
        },
        options);
  }
  EXPECT_TRUE(Eventually([&] { return ended.load() == kNodes; }));
}

// cloudwego/kitex #1246: removed nodes lose their connections under running calls.
// grpc/grpc #38871, trpc-cpp PR #108, PR #101: sockets leak, many failures to connect crash.
TEST(DiscoveryPitfalls, InstancesThatAreRemovedFinishTheirCallsAndLeaveNothingBehind) {
  constexpr int kCalls = 100;
  Gate gate;
  Settings many = Node::QuickSettings();
  many.provider.threads = kCalls;
  Node slow(Node::Behind(gate), many);
  Node stays;
  const auto registry = std::make_shared<ScriptedRegistry>();
  Settings settings;
  settings.method_defaults.retry.timeout = absl::Seconds(30);
  settings.transport.reconnect_backoff_max = absl::Seconds(1);
  registry->Publish(kHello, {ScriptedRegistry::At(stays.endpoint())});
  Caller caller(settings, With(registry));
  for (const Style style : kStyles) ASSERT_TRUE(caller.Delay(style).ok()) << style;
  const int sockets = Sockets();

  registry->Publish(kHello, {ScriptedRegistry::At(slow.endpoint())});
  std::atomic<int> succeeded{0}, ended{0};
  for (int i = 0; i < kCalls; ++i) {
    caller.client().DelayAsync(demo::DelayRequest(), [&](auto reply) {
      if (reply.ok()) succeeded.fetch_add(1);
      ended.fetch_add(1);
    });
  }
  ASSERT_TRUE(gate.WaitForArrivals(kCalls));
  EXPECT_EQ(Sockets(), sockets + 2);  // the connection's both ends
  registry->Publish(kHello, {ScriptedRegistry::At(stays.endpoint())});
  EXPECT_TRUE(caller.Delay().ok());
  EXPECT_EQ(slow.arrivals(), kCalls);
  gate.Open();
  ASSERT_TRUE(Eventually([&] { return ended.load() == kCalls; }));
  EXPECT_EQ(succeeded.load(), kCalls);

  MuteListener mute;
  int threads = 0;
  for (int round = 0; round < 4; ++round) {
    CallFakes(caller, *registry, round, mute.port());
    registry->Publish(kHello, {ScriptedRegistry::At(stays.endpoint())});
    ASSERT_TRUE(caller.Delay().ok());
    if (round == 0) threads = Threads();
  }
  EXPECT_EQ(caller.counters().unreachable_instances.load(), 0);
  // The listener's own.
  EXPECT_TRUE(Eventually([&] { return Sockets() <= sockets + 1; })) << Sockets();
  EXPECT_LE(Threads(), threads + 25);  // gRPC's own come and go; not one an instance
}

// Too few and too many.
TEST(DiscoveryPitfalls, NoneAndTenThousandInstances) {
  Node real;
  const auto registry = std::make_shared<ScriptedRegistry>();
  registry->Publish(kHello, {});
  Settings settings;
  settings.method_defaults.retry.max_retries = 3;
  Caller caller(settings, With(registry));
  for (const Style style : kStyles) {
    EXPECT_EQ(caller.Delay(style).code(), absl::StatusCode::kUnavailable) << style;
  }
  std::vector<Instance> many;
  for (int i = 0; i < 10'000; ++i) {
    many.push_back(ScriptedRegistry::At(absl::StrCat("127.2.", i / 100, ".", 1 + i % 100, ":1")));
  }
  registry->Publish(kHello, many);
  for (const Style style : kStyles) {
    EXPECT_EQ(caller.Delay(style).code(), absl::StatusCode::kUnavailable) << style;
  }
  registry->Publish(kHello, {ScriptedRegistry::At(real.endpoint())});
  for (const Style style : kStyles) EXPECT_TRUE(caller.Delay(style).ok()) << style;
}

// apache/dubbo #10694, #2514, PR #1020: a provider that stops still gets calls, and rejects them.
TEST(DiscoveryPitfalls, ARollingRestartCostsNoCallWithoutRetries) {
  TemporaryFolder folder;
  Settings provider = Node::QuickSettings();
  provider.registry.address = absl::StrCat("file:", folder.path());
  provider.provider.propagation_delay = absl::Milliseconds(500);
  std::vector<std::unique_ptr<Node>> nodes;
  const auto start = [&] {
    return std::make_unique<Node>(Node::Answer(), provider, *OpenRegistry(provider));
  };
  for (int i = 0; i < 3; ++i) nodes.push_back(start());
  Settings settings;
  settings.registry.address = provider.registry.address;
  Caller caller(settings);
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0}, failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      while (!stop.load()) {
        const absl::Status status = caller.Delay(kStyles[t]);
        EXPECT_TRUE(status.ok()) << status;
        (status.ok() ? answered : failed).fetch_add(1);
      }
    });
  }
  for (auto& node : nodes) {
    EXPECT_TRUE(Eventually([&] { return node->arrivals() > 20; }));
    node.reset();
    node = start();
    EXPECT_TRUE(Eventually([&] { return node->arrivals() > 20; }));
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), 0);
  EXPECT_GT(answered.load(), 100);
}

// envoyproxy/envoy #25654, #34798, #10683: gray instances are absent or broken, and nothing falls
// back.
TEST(DiscoveryPitfalls, GrayInstancesThatAreAbsentOrBrokenCostNoCall) {
  for (const bool present : {false, true}) {
    Node a, b;
    Node gray(Node::Fault());
    const auto registry = std::make_shared<ScriptedRegistry>();
    std::vector<Instance> list = {ScriptedRegistry::At(a.endpoint()),
                                  ScriptedRegistry::At(b.endpoint())};
    if (present) {
      list.push_back(ScriptedRegistry::At(gray.endpoint()));
      list.back().gray = true;
    }
    registry->Publish(kHello, list);
    Settings settings;
    settings.service_defaults.gray.enabled = true;
    settings.service_defaults.gray.ratio = 50;
    settings.method_defaults.retry.max_retries = 1;
    settings.method_defaults.retry.idempotent = true;
    settings.method_defaults.retry.budget.enabled = false;
    Caller caller(settings, With(registry));
    constexpr int kCalls = 200;
    for (int i = 0; i < kCalls; ++i) {
      const absl::Status status = caller.Delay(kStyles[i % 4]);
      ASSERT_TRUE(status.ok()) << status;
    }
    EXPECT_EQ(a.arrivals() + b.arrivals(), kCalls);
    EXPECT_EQ(gray.arrivals() > 0, present);
    EXPECT_EQ(caller.counters().router_fallbacks.load(), static_cast<uint64_t>(gray.arrivals()));
  }
}

// grpc/grpc #16210, #33661, grpc-go #2202: keepalive below what the server permits.
TEST(DiscoveryPitfalls, KeepaliveBelowTheServersMinimumCostsNoCall) {
  Gate gate;
  Settings strict = Node::QuickSettings();
  strict.provider.keepalive_min_interval = absl::Minutes(5);
  Node slow(Node::Behind(gate), strict);
  Node quick(Node::Answer(), strict);
  Settings settings = StaticSettings({slow.endpoint()});
  settings.transport.keepalive_time = absl::Seconds(1);
  settings.transport.keepalive_timeout = absl::Seconds(10);
  settings.method_defaults.retry.timeout = absl::ZeroDuration();
  settings.method_defaults.circuit_breaker.enabled = true;
  settings.method_defaults.circuit_breaker.fault_limit = 1;
  Caller silent(settings);
  settings.registry.static_instances[kHello] = {quick.endpoint()};
  Caller busy(settings);
  absl::Notification ended;
  absl::Status status;
  silent.client().DelayAsync(demo::DelayRequest(), [&](auto reply) {
    status = reply.status();
    ended.Notify();
  });
  // Time for three pings.
  const MonotonicTime until = Clock::Real().Now() + absl::Milliseconds(3500);
  while (Clock::Real().Now() < until && !ended.HasBeenNotified()) {
    ASSERT_TRUE(busy.Delay().ok());
  }
  gate.Open();
  ASSERT_TRUE(ended.WaitForNotificationWithTimeout(absl::Seconds(10)));
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace marpc
