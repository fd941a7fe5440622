// Faults that users of other frameworks met with retries and deadlines.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/pitfalls/calls.h"
#include "tests/pitfalls/node.h"
#include "tests/support/echo_server.h"

namespace marpc {
namespace {

using testing::Caller;
using testing::EchoServer;
using testing::kStyles;
using testing::Node;
using testing::StaticSettings;
using testing::Style;

Settings Retrying(std::vector<std::string> endpoints, int max_retries) {
  Settings settings = StaticSettings(std::move(endpoints));
  RetrySettings& retry = settings.method_defaults.retry;
  retry.max_retries = max_retries;
  retry.idempotent = true;
  retry.budget.enabled = false;
  return settings;
}

// apache/dubbo #10582, #8715, #14139: retries=0 retries all the same; elsewhere retries never act.
TEST(RetryPitfalls, EveryStyleMakesAsManyAttemptsAsIsSaidWhenThePeerIsSick) {
  for (const Style style : kStyles) {
    for (const int max_retries : {0, 1, 2}) {
      SCOPED_TRACE(::testing::Message() << style << ", maxRetries " << max_retries);
      Node a(Node::Fault()), b(Node::Fault()), c(Node::Fault());
      Caller caller(Retrying({a.endpoint(), b.endpoint(), c.endpoint()}, max_retries));
      EXPECT_EQ(caller.Delay(style).code(), absl::StatusCode::kUnavailable);
      EXPECT_EQ(a.arrivals() + b.arrivals() + c.arrivals(), 1 + max_retries);
    }
  }
}

TEST(RetryPitfalls, EveryStyleMakesAsManyAttemptsAsIsSaidWhenThePeerHangs) {
  Node a(Node::Hang()), b(Node::Hang()), c(Node::Hang());
  const auto arrivals = [&] { return a.arrivals() + b.arrivals() + c.arrivals(); };
  for (const Style style : kStyles) {
    for (const int max_retries : {0, 1, 2}) {
      SCOPED_TRACE(::testing::Message() << style << ", maxRetries " << max_retries);
      Settings settings = Retrying({a.endpoint(), b.endpoint(), c.endpoint()}, max_retries);
      settings.method_defaults.retry.timeout = absl::Milliseconds(100);
      Caller caller(settings);
      // Connected, so that what times out has arrived.
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(caller.client().Hello(demo::HelloRequest()).ok());
      const int before = arrivals();
      EXPECT_EQ(caller.Delay(style).code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_EQ(arrivals() - before, 1 + max_retries);
    }
  }
}

// apache/dubbo #3060, #6546: time outs are retried like network errors.
TEST(RetryPitfalls, ATimeOutOfANonIdempotentMethodIsOneArrivalInEveryStyle) {
  Node a(Node::Hang()), b(Node::Hang());
  for (const Style style : kStyles) {
    SCOPED_TRACE(::testing::Message() << style);
    Settings settings = Retrying({a.endpoint(), b.endpoint()}, 2);
    settings.method_defaults.retry.idempotent.reset();  // the .proto says nothing of Delay
    settings.method_defaults.retry.timeout = absl::Milliseconds(100);
    Caller caller(settings);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(caller.client().Hello(demo::HelloRequest()).ok());
    const int before = a.arrivals() + b.arrivals();
    EXPECT_EQ(caller.Delay(style).code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_EQ(a.arrivals() + b.arrivals() - before, 1);
  }
}

// grpc/grpc #41036: calls hang for ever with short backoffs and a deadline.
TEST(RetryPitfalls, TenThousandRefusedCallsAllReturn) {
  constexpr int kThreads = 32;
  constexpr int kCalls = 10'000;
  std::vector<std::string> refusing;
  for (int i = 0; i < 3; ++i) refusing.push_back(EchoServer().endpoint());
  Settings settings = Retrying(refusing, 4);
  settings.method_defaults.retry.backoff.initial = absl::Milliseconds(1);
  settings.method_defaults.retry.backoff.max = absl::Milliseconds(1);
  Caller caller(settings);
  CallOptions options;
  options.timeout = absl::Milliseconds(100);
  std::atomic<int> next{0}, failed{0}, late{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      while (next.fetch_add(1) < kCalls) {
        const MonotonicTime started = Clock::Real().Now();
        const absl::Status status =
            caller.Delay(t % 2 == 0 ? Style::kBlocking : Style::kAsync, options);
        if (status.code() == absl::StatusCode::kUnavailable ||
            status.code() == absl::StatusCode::kDeadlineExceeded) {
          failed.fetch_add(1);
        }
        if (Clock::Real().Now() - started > absl::Seconds(5)) late.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), kCalls);
  EXPECT_EQ(late.load(), 0);
}

// grpc/grpc PR #10612, #40415, #31506: an answer that is too large is taken for an overload.
TEST(RetryPitfalls, AnAnswerThatIsTooLargeIsNeitherRetriedNorAFailureOfThePeer) {
  const auto large = [](ServerCall&, const demo::DelayRequest&, demo::HelloReply* reply) {
    reply->set_message(std::string(5 << 20, 'x'));
    return absl::OkStatus();
  };
  Node a(large), b(large);
  Settings settings = Retrying({a.endpoint(), b.endpoint()}, 2);
  settings.method_defaults.retry.retry_on = {absl::StatusCode::kResourceExhausted};
  settings.method_defaults.circuit_breaker.enabled = true;
  {
    Caller caller(settings);
    for (int i = 1; i <= 100; ++i) {
      const Style style = kStyles[i % 4];
      ASSERT_EQ(caller.Delay(style).code(), absl::StatusCode::kResourceExhausted) << style;
      ASSERT_EQ(a.arrivals() + b.arrivals(), i) << style;
    }
    const auto breaker = caller.consumer().Breaker("demo.HelloService/Delay");
    ASSERT_TRUE(breaker.has_value());
    EXPECT_EQ(breaker->state, BreakerState::kClosed);
    EXPECT_EQ(caller.counters().unreachable_instances.load(), 0);
  }
  settings.transport.max_receive_message_size = 8 << 20;
  Caller caller(settings);
  for (const Style style : kStyles) EXPECT_TRUE(caller.Delay(style).ok()) << style;
}

// resilience4j #515, #920, #1065: a refusal by the open breaker is itself retried.
TEST(RetryPitfalls, AnOpenBreakerCostsNeitherAttemptNorBackoff) {
  Node a(Node::Fault());
  Settings settings = Retrying({a.endpoint()}, 3);
  settings.method_defaults.retry.backoff.initial = absl::Seconds(2);
  settings.method_defaults.retry.backoff.max = absl::Seconds(2);
  settings.method_defaults.circuit_breaker.enabled = true;
  settings.method_defaults.circuit_breaker.fault_limit = 1;
  settings.method_defaults.circuit_breaker.half_open_initial_delay = absl::Hours(1);
  Caller caller(settings);
  for (const Style style : kStyles) {
    SCOPED_TRACE(::testing::Message() << style);
    // The first call opens it, and its retry is refused.
    const MonotonicTime started = Clock::Real().Now();
    CallOptions options;
    if (style == Style::kBlocking) options.timeout = absl::Seconds(1);  // no room for a backoff
    EXPECT_EQ(caller.Delay(style, options).code(), absl::StatusCode::kUnavailable);
    EXPECT_LT(Clock::Real().Now() - started, absl::Seconds(2));
    EXPECT_EQ(a.arrivals(), 1);
  }
}

// grpc/grpc #35060: a retry does not happen, and nothing says why.
TEST(RetryPitfalls, ARetryThatDoesNotHappenSaysWhy) {
  Node a(Node::Fault());
  for (const Style style : {Style::kBlocking, Style::kAsync}) {
    Settings settings = Retrying({a.endpoint()}, 0);
    Caller caller(settings);
    CallReport report;
    CallOptions options;
    options.report = &report;
    EXPECT_FALSE(caller.Delay(style, options).ok());
    ASSERT_EQ(report.attempts.size(), 1u);
    EXPECT_THAT(report.attempts[0].verdict(), ::testing::HasSubstr("retry.maxRetries"));
  }
}

}  // namespace
}  // namespace marpc
