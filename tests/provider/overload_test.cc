// Limits of a provider and of a consumer, with both at work.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "marpc/base/error.h"
#include "marpc/config/load.h"
#include "tests/pitfalls/calls.h"
#include "tests/pitfalls/node.h"

namespace marpc::testing {
namespace {

Settings ProviderWith(const std::string& limit) {
  const auto loaded = ParseSettings("marpc: {provider: {limit: {" + limit + "}}}", "test.yaml");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  Settings settings = Node::QuickSettings();
  settings.provider.limit = loaded->provider.limit;
  return settings;
}

// A consumer of `node` with `keys`, YAML below `marpc`.
Settings Calling(const Node& node, const std::string& keys) {
  const auto loaded = ParseSettings("marpc: {" + keys + "}", "test.yaml");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  Settings settings = StaticSettings({node.endpoint()});
  settings.method_defaults = loaded->method_defaults;
  return settings;
}

std::string ReasonOf(const absl::Status& status) {
  const auto info = GetErrorInfo(status);
  return info.has_value() ? info->reason() : status.ToString();
}

TEST(Overload, TheProviderStaysWithinItsLimitAndTheConsumersBreakerStaysClosed) {
  constexpr int kLimit = 2;
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  Gate gate;
  Node node(
      [&](ServerCall&, auto&, auto*) {
        const int now = ++running;
        int seen = most.load();
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        gate.Pass();
        --running;
        return absl::OkStatus();
      },
      ProviderWith("maxConcurrent: {demo.HelloService/Delay: 2}"));
  Caller caller(Calling(node, "circuitbreaker: {enabled: true, faultLimit: 1}"));
  std::vector<std::thread> holders;
  for (int i = 0; i < kLimit; ++i) {
    holders.emplace_back([&] { EXPECT_TRUE(caller.Delay().ok()); });
  }
  ASSERT_TRUE(gate.WaitForArrivals(kLimit));
  for (const Style style : kStyles) {
    for (int i = 0; i < 10; ++i) {
      const absl::Status status = caller.Delay(style);
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << style << ": " << status;
      EXPECT_EQ(ReasonOf(status), reason::kOverloaded) << style;
      EXPECT_EQ(GetErrorInfo(status)->origin(), ErrorInfo::FRAMEWORK) << style;
    }
  }
  gate.Open();
  for (std::thread& holder : holders) holder.join();
  // The breaker opens at the first failure that counts: it lets calls through, so none has counted.
  EXPECT_TRUE(Eventually([&] { return node.provider().limits()[0].under_way == 0; }));
  EXPECT_TRUE(caller.Delay().ok());
  EXPECT_EQ(most, kLimit);
  EXPECT_EQ(node.arrivals(), kLimit + 1);
}

TEST(Overload, ARefusedCallIsMadeAgainWhenThePushbackIsOverThoughItIsNotIdempotent) {
  Gate gate;
  Node node(Node::Behind(gate), ProviderWith("maxConcurrent: 1, pushback: 10ms"));
  Caller caller(Calling(node, "retry: {maxRetries: 100, budget: {enabled: false}}"));
  std::thread holder([&] { EXPECT_TRUE(caller.Delay().ok()); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  CallReport report;
  CallOptions options;
  options.report = &report;
  absl::Status status;
  std::thread refused([&] { status = caller.Delay(options); });
  EXPECT_TRUE(
      Eventually([&] { return node.provider().calls("demo.HelloService/Delay").refused >= 2; }));
  gate.Open();
  holder.join();
  refused.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GE(report.attempts.size(), 3u);
  EXPECT_EQ(node.arrivals(), 2) << "the handler saw each call once";
}

TEST(Overload, ABulkheadRefusesInEveryStyleAndNothingArrives) {
  Gate gate;
  Node node(Node::Behind(gate));
  Caller caller(Calling(node, "limit: {maxConcurrent: 1}"));
  std::thread holder([&] { EXPECT_TRUE(caller.Delay().ok()); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  for (const Style style : kStyles) {
    EXPECT_EQ(ReasonOf(caller.Delay(style)), reason::kTooManyCalls) << style;
  }
  EXPECT_EQ(node.arrivals(), 1);
  gate.Open();
  holder.join();
  for (const Style style : kStyles) EXPECT_TRUE(caller.Delay(style).ok()) << style;
}

TEST(Overload, CallsOfEveryStyleWaitForAPlaceUnderTheBulkhead) {
  Gate gate;
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  Node node([&](ServerCall&, auto&, auto*) {
    const int now = ++running;
    if (now > most) most = now;
    gate.Pass();
    --running;
    return absl::OkStatus();
  });
  Caller caller(Calling(node, "limit: {maxConcurrent: 1, maxWait: 30s}"));
  std::vector<std::thread> callers;
  std::atomic<int> answered{0};
  for (int i = 0; i < 3; ++i) {
    for (const Style style : kStyles) {
      callers.emplace_back([&, style] {
        const absl::Status status = caller.Delay(style);
        EXPECT_TRUE(status.ok()) << style << ": " << status;
        ++answered;
      });
    }
  }
  ASSERT_TRUE(gate.WaitForArrivals(1));
  gate.Open();
  for (std::thread& one : callers) one.join();
  EXPECT_EQ(answered, 12);
  EXPECT_EQ(most, 1);
}

// The thread that starts an asynchronous call goes on while the call waits.
TEST(Overload, AnAsynchronousCallWaitsWithoutAThread) {
  Gate gate;
  Node node(Node::Behind(gate));
  auto consumer = Consumer::Create(Calling(node, "limit: {maxConcurrent: 1, maxWait: 30s}"));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  demo::HelloServiceClient client(**consumer);
  std::atomic<int> answered{0};
  for (int i = 0; i < 3; ++i) {
    client.DelayAsync(demo::DelayRequest(), [&](absl::StatusOr<demo::HelloReply> reply) {
      EXPECT_TRUE(reply.ok()) << reply.status();
      ++answered;
    });
  }
  ASSERT_TRUE(gate.WaitForArrivals(1));
  EXPECT_EQ(node.arrivals(), 1);
  gate.Open();
  EXPECT_TRUE(Eventually([&] { return answered == 3; }));
}

TEST(Overload, AThrottleRefusesHereWhatAProviderRefusesAnyway) {
  Gate gate;
  Node node(Node::Behind(gate), ProviderWith("maxConcurrent: 1"));
  Caller caller(
      Calling(node, "limit: {throttle: {enabled: true, window: 1h, maxRefusalPercent: 100}}"));
  std::thread holder([&] { EXPECT_TRUE(caller.Delay().ok()); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  int overloaded = 0;
  int throttled = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string reason = ReasonOf(caller.Delay());
    overloaded += reason == reason::kOverloaded ? 1 : 0;
    throttled += reason == reason::kThrottled ? 1 : 0;
  }
  EXPECT_EQ(overloaded + throttled, 300);
  // About ln(300) get through: 1 in n + 1 after n.
  EXPECT_GT(throttled, 250);
  EXPECT_GE(overloaded, 1);
  gate.Open();
  holder.join();
}

}  // namespace
}  // namespace marpc::testing
