// Faults that users of other frameworks met with hedges (backup requests).
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/pitfalls/calls.h"
#include "tests/pitfalls/node.h"
#include "tests/pitfalls/serving_child.h"

namespace marpc {
namespace {

using testing::Caller;
using testing::kHello;
using testing::kStyles;
using testing::Node;
using testing::ServingChild;
using testing::StaticSettings;

Settings Hedged(const std::vector<std::unique_ptr<Node>>& nodes) {
  std::vector<std::string> endpoints;
  for (const auto& node : nodes) endpoints.push_back(node->endpoint());
  Settings settings = StaticSettings(endpoints);
  RetrySettings& retry = settings.method_defaults.retry;
  retry.idempotent = true;
  retry.hedging.enabled = true;
  retry.hedging.delay = absl::Milliseconds(1);
  return settings;
}

std::vector<std::unique_ptr<Node>> Nodes(int n, absl::Duration delay) {
  std::vector<std::unique_ptr<Node>> nodes;
  for (int i = 0; i < n; ++i) nodes.push_back(std::make_unique<Node>(Node::After(delay)));
  return nodes;
}

int Arrivals(const std::vector<std::unique_ptr<Node>>& nodes) {
  int sum = 0;
  for (const auto& node : nodes) sum += node->arrivals();
  return sum;
}

// `calls` calls of all styles on eight threads; how many were answered.
int CallMany(Caller& caller, int calls) {
  std::atomic<int> next{0}, answered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      while (next.fetch_add(1) < calls) {
        if (caller.Delay(kStyles[t % 4]).ok()) answered.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return answered.load();
}

// apache/brpc #2695, #2668, cloudwego/kitex PR #1117: when all slow down, hedges double the load.
TEST(HedgingPitfalls, WhenEverythingIsSlowHedgesStayWithinTheirShare) {
  constexpr int kCalls = 500;
  const auto nodes = Nodes(3, absl::Milliseconds(10));
  Settings settings = Hedged(nodes);
  settings.method_defaults.retry.hedging.max_share = 0.1;
  Caller caller(settings);
  EXPECT_EQ(CallMany(caller, kCalls), kCalls);
  EXPECT_LE(Arrivals(nodes), kCalls + kCalls / 10);
  EXPECT_GT(caller.counters().hedges.load(), 0u);
  EXPECT_LE(caller.counters().hedges.load(), kCalls / 10u);
}

// trpc-group/trpc-cpp PR #106: with backup requests the load becomes uneven.
TEST(HedgingPitfalls, HedgesAreSpreadEvenly) {
  constexpr int kCalls = 1000;
  const auto nodes = Nodes(5, absl::Milliseconds(10));
  Settings settings = Hedged(nodes);
  settings.method_defaults.retry.hedging.max_share = 1;
  settings.method_defaults.retry.budget.enabled = false;
  Caller caller(settings);
  EXPECT_EQ(CallMany(caller, kCalls), kCalls);
  EXPECT_GT(caller.counters().hedges.load(), kCalls * 9u / 10);
  // Not all are equal: one that is overtaken many times in a row by chance is passed over for a
  // while.
  const double mean = Arrivals(nodes) / 5.0;
  for (const auto& node : nodes) {
    EXPECT_GE(node->arrivals(), mean * 0.6);
    EXPECT_LE(node->arrivals(), mean * 1.4);
  }
}

// grpc/grpc #15702, brpc #787 with hedges: a black-holed instance never lets a call time out, since
// its hedge is answered first, and so stays in rotation.
TEST(HedgingPitfalls, AFrozenInstanceLosesItsShareThoughHedgesHideIt) {
  Node b, c;
  ServingChild a;
  Settings settings = Hedged({});
  settings.registry.static_instances[kHello] = {a.endpoint(), b.endpoint(), c.endpoint()};
  settings.method_defaults.retry.hedging.max_share = 1;
  settings.method_defaults.retry.hedging.delay = absl::Milliseconds(20);
  settings.method_defaults.retry.budget.enabled = false;
  Caller caller(settings);
  Warm(caller, a, b, c);
  a.Kill(SIGSTOP);
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(caller.Delay(kStyles[i % 4]).ok());
  const uint64_t won = caller.counters().hedges_won.load();
  constexpr int kCalls = 1000;
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(caller.Delay(kStyles[i % 4]).ok());
  EXPECT_LT(caller.counters().hedges_won.load() - won, kCalls / 20u);
  // It is back as soon as it answers again.
  a.Kill(SIGCONT);
  const int before = a.arrivals();
  for (int i = 0; i < 1'000'000 && a.arrivals() < before + 100; ++i) {
    EXPECT_TRUE(caller.Delay().ok());
  }
  EXPECT_GE(a.arrivals(), before + 100);
}

// grpc/grpc #18310, #36609 of hedged calls: a callback waits for other calls of the same client.
// As many callbacks block at a time as there can be threads that run them.
TEST(HedgingPitfalls, CallbacksMakeBlockingHedgedCalls) {
  ServingChild a;
  Settings settings = Hedged({});
  settings.registry.static_instances[kHello] = {a.endpoint()};
  Caller caller(settings);
  testing::CallFromCallbacks(caller);
}

// Calls that end in every way while they have several attempts under way: closed, cancelled, timed
// out. Nothing is lost, nothing ends twice.
TEST(HedgingPitfalls, HedgedCallsEndOnceHoweverTheyEnd) {
  for (int round = 0; round < 20; ++round) {
    const auto nodes = Nodes(3, absl::Milliseconds(3));
    Settings settings = Hedged(nodes);
    HedgingSettings& hedging = settings.method_defaults.retry.hedging;
    hedging.max_share = 1;
    hedging.max_hedges = 2;
    settings.method_defaults.retry.max_retries = 1;
    settings.method_defaults.retry.timeout = absl::Milliseconds(2 + round % 4);
    Caller caller(settings);
    constexpr int kCalls = 60;
    std::vector<std::atomic<int>> ends(kCalls);
    const auto cancel = std::make_shared<CancelSignal>();
    CallOptions options;
    options.cancel = cancel;
    for (int i = 0; i < kCalls; ++i) {
      caller.client().DelayAsync(
          demo::DelayRequest(), [&ends, i](auto) { ends[i].fetch_add(1); },
          i % 2 == 0 ? options : CallOptions());
    }
    std::thread canceller([&] { cancel->Cancel(); });
    if (round % 2 == 0) caller.Destroy();
    canceller.join();
    EXPECT_TRUE(testing::Eventually([&] {
      return std::all_of(ends.begin(), ends.end(), [](const auto& n) { return n.load() == 1; });
    }));
  }
}

}  // namespace
}  // namespace marpc
