// Faults that users of other frameworks met when processes die, hang or end, and in callbacks.

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "tests/pitfalls/calls.h"
#include "tests/pitfalls/node.h"
#include "tests/pitfalls/serving_child.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace marpc {
namespace {

using testing::Caller;
using testing::Eventually;
using testing::Gate;
using testing::kStyles;
using testing::Node;
using testing::ServingChild;
using testing::StaticSettings;
using testing::Style;

constexpr int kThreads = 8;

// grpc/grpc #26437, #9767: after a node died, calls fail that could have gone elsewhere.
TEST(ProcessPitfalls, AKilledInstanceCostsOnlyTheCallsThatItHadGot) {
  Node b, c;
  ServingChild a;
  Settings settings = StaticSettings({a.endpoint(), b.endpoint(), c.endpoint()});
  settings.method_defaults.retry.max_retries = 2;  // Delay is not idempotent
  Caller caller(settings);
  Warm(caller, a, b, c);
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0}, lost{0};
  std::mutex mutex;
  std::vector<absl::Status> others;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      while (!stop.load()) {
        const absl::Status status = caller.Delay(kStyles[t % 4]);
        if (status.ok()) {
          answered.fetch_add(1);
          continue;
        }
        const auto info = GetErrorInfo(status);
        if (info.has_value() && info->reason() == reason::kConnection &&
            info->attempts_size() == 1 && info->attempts(0).instance() == a.endpoint()) {
          lost.fetch_add(1);
          continue;
        }
        std::lock_guard<std::mutex> lock(mutex);
        others.push_back(status);
      }
    });
  }
  ASSERT_TRUE(Eventually([&] { return answered.load() > 300; }));
  a.Kill(SIGKILL);
  const int before = answered.load();
  EXPECT_TRUE(Eventually([&] { return answered.load() > before + 1000; }));
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(others.empty()) << others.front();
  EXPECT_LE(lost.load(), kThreads);
}

// grpc/grpc #15702, brpc #787: a black-holed peer stays in rotation, and calls outlive their
// deadlines.
TEST(ProcessPitfalls, AFrozenInstanceLosesItsShareAndItsCallsEndInTime) {
  Node b, c;
  ServingChild a;
  Settings settings = StaticSettings({a.endpoint(), b.endpoint(), c.endpoint()});
  settings.method_defaults.retry.timeout = absl::Milliseconds(100);
  Caller caller(settings);
  Warm(caller, a, b, c);
  a.Kill(SIGSTOP);
  int timed_out = 0;
  for (int i = 0; timed_out < 4 && i < 100'000; ++i) {
    const MonotonicTime started = Clock::Real().Now();
    const absl::Status status = caller.Delay(kStyles[i % 4]);
    EXPECT_LT(Clock::Real().Now() - started, absl::Seconds(3));
    if (!status.ok()) ++timed_out;
  }
  ASSERT_EQ(timed_out, 4);
  constexpr int kCalls = 1000;
  int failed = 0;
  for (int i = 0; i < kCalls; ++i) {
    if (!caller.Delay(kStyles[i % 4]).ok()) ++failed;
  }
  EXPECT_LT(failed, kCalls / 100);
  a.Kill(SIGCONT);
}

// A hung peer answers nothing and refuses nothing: calls that hang there have to count as soon as
// they have hung for too long, and it has to come back when it wakes up.
TEST(ProcessPitfalls, AFrozenInstanceIsLeftAloneByItsBreakerAndUsedAgainOnceItWakes) {
  Node b, c;
  ServingChild a;
  Settings settings = StaticSettings({a.endpoint(), b.endpoint(), c.endpoint()});
  settings.method_defaults.retry.timeout = absl::Seconds(3);
  settings.method_defaults.retry.max_retries = 2;
  settings.method_defaults.retry.idempotent = true;
  CircuitBreakerSettings& breaker = settings.method_defaults.circuit_breaker;
  breaker.enabled = true;
  breaker.scope = {.service = false, .method = false, .instance = true};
  breaker.trip_on = {.fault_limit = false, .consecutive_failures = true};
  breaker.consecutive_failures = 3;
  breaker.slow_calls_fail = true;
  breaker.slow_call_duration = absl::Seconds(1);
  breaker.half_open_initial_delay = absl::Milliseconds(200);
  breaker.half_open_delay = absl::Milliseconds(200);
  breaker.ramp_up = absl::Milliseconds(200);
  Caller caller(settings);
  Warm(caller, a, b, c);
  const auto state_of_a = [&] {
    for (const auto& breaker : caller.consumer().Breakers(testing::kHello)) {
      if (absl::EndsWith(breaker.name, absl::StrCat("@", a.endpoint()))) {
        return breaker.snapshot.state;
      }
    }
    return BreakerState::kDisabled;
  };
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::atomic<uint64_t> answered_by_a{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        CallReport report;
        CallOptions options;
        options.report = &report;
        if (!caller.Delay(options).ok()) {
          failed.fetch_add(1);
        } else if (report.attempts.back().instance() == a.endpoint()) {
          answered_by_a.fetch_add(1);
        }
      }
    });
  }
  EXPECT_TRUE(Eventually([&] { return answered_by_a.load() > 0; }));
  a.Kill(SIGSTOP);
  EXPECT_TRUE(Eventually([&] { return state_of_a() == BreakerState::kOpen; }));
  a.Kill(SIGCONT);
  EXPECT_TRUE(Eventually([&] { return state_of_a() == BreakerState::kClosed; }));
  const uint64_t before = answered_by_a.load();
  EXPECT_TRUE(Eventually([&] { return answered_by_a.load() > before + 100; }));
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), 0);
}

// grpc/grpc #30151, #28949, #15973: a global channel crashes or hangs at exit.
TEST(ProcessPitfalls, AStaticConsumerWithCallsInFlightIsNoReasonToHangOrCrashAtExit) {
  Gate gate;
  Node a(Node::Behind(gate));
  TemporaryFolder folder;
  for (const std::string how : {"return", "exit", "close", "hedged"}) {
    const int before = a.arrivals();
    ChildProcess child(
        {.arguments = {MARPC_PITFALLS_CHILD, "exit", a.endpoint(), how}, .log = folder / "log"});
    ASSERT_EQ(child.ReadLine(), "calling") << how;
    EXPECT_TRUE(Eventually([&] { return a.arrivals() >= before + 4; })) << how;
    const MonotonicTime started = Clock::Real().Now();
    child.CloseInput();
    EXPECT_EQ(child.Wait(), 0) << how;
    EXPECT_LT(Clock::Real().Now() - started, absl::Seconds(5)) << how;
  }
  gate.Open();
}

// grpc/grpc #18310, #36609: what callbacks may not do.
TEST(ProcessPitfalls, CallbacksMakeBlockingCallsThroughTheirClient) {
  ServingChild a;
  Caller caller(StaticSettings({a.endpoint()}));
  testing::CallFromCallbacks(caller);
}

TEST(ProcessPitfalls, ACallbackDestroysClientAndConsumerUnderOtherCalls) {
  for (int round = 0; round < 10; ++round) {
    Node a(Node::After(absl::Milliseconds(1)));
    Caller caller(StaticSettings({a.endpoint()}));
    ASSERT_TRUE(caller.Delay().ok());
    constexpr int kCalls = 20;
    std::atomic<int> ended{0};
    std::atomic<bool> destroyed{false};
    // As many as are started until one of them has ended.
    demo::HelloServiceClient client = caller.client();
    for (int i = 0; i < kCalls; ++i) {
      client.DelayAsync(demo::DelayRequest(), [&](auto) {
        if (!destroyed.exchange(true)) caller.Destroy();
        ended.fetch_add(1);
      });
    }
    ASSERT_TRUE(Eventually([&] { return ended.load() == kCalls; }));
  }
}

TEST(ProcessPitfalls, WhatACallbackThrowsHarmsNobody) {
  Node a;
  Settings settings = StaticSettings({a.endpoint()});
  settings.method_defaults.retry.max_retries = 1;
  settings.method_defaults.retry.backoff.initial = absl::Milliseconds(1);
  for (const bool hedged : {false, true}) {
    settings.method_defaults.retry.hedging.enabled = hedged;
    settings.method_defaults.retry.idempotent = true;
    Caller caller(settings);
    std::atomic<int> ended{0};
    for (int i = 0; i < 10; ++i) {
      caller.client().DelayAsync(demo::DelayRequest(), [&](auto) {
        ended.fetch_add(1);
        throw std::runtime_error("thrown by the test");
      });
    }
    ASSERT_TRUE(Eventually([&] { return ended.load() == 10; }));
    for (const Style style : kStyles) EXPECT_TRUE(caller.Delay(style).ok()) << style;
  }
}

}  // namespace
}  // namespace marpc
