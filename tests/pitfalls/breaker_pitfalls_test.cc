// Faults that users of other frameworks met with circuit breakers.
#include <algorithm>
#include <atomic>
#include <deque>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/config/load.h"
#include "tests/pitfalls/calls.h"
#include "tests/pitfalls/node.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using testing::Answer;
using testing::Caller;
using testing::Eventually;
using testing::Gate;
using ::testing::HasSubstr;
using testing::InTurn;
using testing::kHello;
using testing::LostRequest;
using testing::Node;
using testing::SimulatedResult;
using testing::SimulatedService;
using testing::StaticSettings;

SimulatedService::Options Options(std::vector<std::string> instances, BreakerScopes scope = {}) {
  SimulatedService::Options options;
  options.name = "test.BreakerPitfalls";
  options.instances = std::move(instances);
  options.settings.circuit_breaker.enabled = true;
  options.settings.circuit_breaker.scope = scope;
  options.settings.circuit_breaker.fault_limit = 1;
  return options;
}
constexpr BreakerScopes kInstance = {.service = false, .method = false, .instance = true};

// alibaba/Sentinel #1638, #3502: a probe that a later rule refuses leaves the breaker half-open for
// ever.
TEST(BreakerPitfalls, AProbeThatIsRefusedFurtherOnGivesItsPermitBack) {
  SimulatedService service(Options({"a"}));
  service.Call(InTurn({LostRequest()}));
  service.clock().Advance(absl::Seconds(10));
  service.SetInstances({});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(service.Call(InTurn({Answer()})).reason(), reason::kNoAvailableInstance);
    EXPECT_EQ(service.breaker()->state(), BreakerState::kHalfOpen);
  }
  service.SetInstances({"a"});
  EXPECT_TRUE(service.Call(InTurn({Answer()})).status.ok());
  EXPECT_EQ(service.breaker()->state(), BreakerState::kClosed) << "within one more probe";
}

// alibaba/Sentinel #2136: two rules on one resource keep it open for ever.
TEST(BreakerPitfalls, AMethodThatIsGivenTwiceIsAnErrorThatNamesBothLines) {
  const auto settings = ParseSettings(
      "marpc:\n"
      "  services:\n"
      "    demo.HelloService:\n"
      "      methods:\n"
      "        Hello: {circuitbreaker: {faultLimit: 1}}\n"
      "        Hello: {circuitbreaker: {faultLimit: 2}}\n",
      "test.yaml");
  ASSERT_FALSE(settings.ok());
  EXPECT_THAT(std::string(settings.status().message()), HasSubstr("test.yaml:6"));
  EXPECT_THAT(std::string(settings.status().message()), HasSubstr("line 5"));
}

// resilience4j #935, #903, #2172: half-open is stuck when a probe is cancelled or never ends.
TEST(BreakerPitfalls, AProbeThatIsCancelledOrHangsDoesNotWedgeTheBreaker) {
  SimulatedService::Options options = Options({"a"});
  options.settings.circuit_breaker.half_open_probe_timeout = absl::Seconds(2);
  SimulatedService service(std::move(options));
  service.Call(InTurn({LostRequest()}));
  service.clock().Advance(absl::Seconds(10));
  testing::SimulatedAttempt cancelled;
  cancelled.outcome.status = absl::CancelledError("by its caller");
  cancelled.outcome.source = AttemptOutcome::Source::kLocal;
  service.Call(InTurn({cancelled}));
  EXPECT_EQ(service.breaker()->state(), BreakerState::kHalfOpen);

  google::protobuf::Value request, reply;
  const RpcContext context;
  CallInput input{
      .method = &service.method(), .request = &request, .reply = &reply, .context = &context};
  CallSession hangs(service.cell(), input);
  ASSERT_EQ(hangs.Start(service.now()).kind, Step::Kind::kAttempt);
  EXPECT_EQ(service.Call(InTurn({Answer()})).reason(), reason::kCircuitBreakerOpen);
  service.clock().Advance(absl::Seconds(2));
  EXPECT_TRUE(service.Call(InTurn({Answer()})).status.ok());
  EXPECT_EQ(service.breaker()->state(), BreakerState::kClosed);
}

// resilience4j #1432, as the server sees it.
TEST(BreakerPitfalls, TheServerSeesOneProbeHoweverManyThreadsWaitForTheInstant) {
  for (int round = 0; round < 10; ++round) {
    Gate gate;
    std::atomic<bool> sick{true};
    Node node([&](ServerCall& call, const demo::DelayRequest& request, demo::HelloReply* reply) {
      return sick ? Node::Fault()(call, request, reply) : Node::Behind(gate)(call, request, reply);
    });
    Settings settings = StaticSettings({node.endpoint()});
    CircuitBreakerSettings& breaker = settings.method_defaults.circuit_breaker;
    breaker.enabled = true;
    breaker.fault_limit = 1;
    breaker.half_open_initial_delay = absl::Milliseconds(50);
    Caller caller(settings);
    EXPECT_FALSE(caller.Delay().ok());
    sick = false;
    ASSERT_TRUE(Eventually([&] {
      const auto snapshot = caller.consumer().Breaker("demo.HelloService/Delay");
      return snapshot->next_probe_at <= Clock::Real().Now();
    }));
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 64; ++t) {
      threads.emplace_back([&] {
        if (!caller.Delay().ok()) ++refused;
      });
    }
    EXPECT_TRUE(Eventually([&] { return refused == 63; }));
    EXPECT_TRUE(Eventually([&] { return node.arrivals() >= 2; })) << "the failure and the probe";
    gate.Open();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(node.arrivals(), 2);
    EXPECT_TRUE(caller.Delay().ok());
  }
}

// A node that answers so many calls a second, and loses the others.
class LimitedNode {
 public:
  explicit LimitedNode(int per_second) : per_second_(per_second) {}
  testing::SimulatedAttempt Serve(MonotonicTime now) {
    arrivals_.push_back(now);
    while (now - arrivals_.front() >= absl::Seconds(1)) arrivals_.pop_front();
    most_ = std::max(most_, static_cast<int>(arrivals_.size()));
    return static_cast<int>(arrivals_.size()) > per_second_ ? LostRequest() : Answer();
  }
  int most_in_a_second() const { return most_; }

 private:
  const int per_second_;
  std::deque<MonotonicTime> arrivals_;
  int most_ = 0;
};

// alibaba/Sentinel #154: the whole traffic returns at once to the one node that has recovered.
TEST(BreakerPitfalls, AOneNodeThatIsBackGetsNoMoreThanItBears) {
  SimulatedService::Options options = Options({"a", "b", "c"}, kInstance);
  options.settings.circuit_breaker.fault_limit = 5;
  options.settings.circuit_breaker.ramp_up = absl::Seconds(60);
  options.settings.circuit_breaker.ramp_up_from = 5;
  SimulatedService service(std::move(options));
  std::set<std::string> down = {"a", "b", "c"};
  LimitedNode a(50);
  int calls = 0;
  int answered = 0;
  const auto run = [&](absl::Duration time) {
    const MonotonicTime until = service.clock().Now() + time;
    calls = answered = 0;
    while (service.clock().Now() < until) {
      const SimulatedResult result = service.Call([&](const std::string& instance, const Step&) {
        if (down.contains(instance)) return LostRequest();
        return instance == "a" && !down.empty() ? a.Serve(service.clock().Now()) : Answer();
      });
      ++calls;
      answered += result.status.ok();
      service.clock().Advance(absl::Seconds(1) / 300);  // 300 calls a second
    }
  };
  run(absl::Seconds(30));
  EXPECT_EQ(answered, 0);
  down = {"b", "c"};
  run(absl::Seconds(120));
  EXPECT_GT(answered, 100);
  EXPECT_LE(a.most_in_a_second(), 60) << "it bears 50";
  down = {};
  run(absl::Seconds(120));
  run(absl::Seconds(10));
  EXPECT_EQ(answered, calls) << "all is well when b and c are back";
}

// apache/brpc #1874: with all nodes isolated, none is ever tried again.
TEST(BreakerPitfalls, AllInstancesThatWereGivenUpAreTriedAgainAtTheFirstCallAfterTheirTime) {
  SimulatedService service(Options({"a", "b", "c"}, kInstance));
  for (int i = 0; i < 3; ++i) service.Call(InTurn({LostRequest()}));
  for (const char* name : {"@a:1", "@b:1", "@c:1"}) {
    const auto snapshot = service.breaker(name).GetSnapshot(service.clock().Now());
    EXPECT_EQ(snapshot.state, BreakerState::kOpen);
    EXPECT_EQ(snapshot.next_probe_at - service.clock().Now(), absl::Seconds(10));
  }
  service.clock().Advance(absl::Seconds(60));
  EXPECT_TRUE(service.Call(InTurn({Answer()})).status.ok());
}

// envoyproxy/envoy #40697: the count of consecutive errors is cleared at each interval.
TEST(BreakerPitfalls, ConsecutiveFailuresAreNotClearedByAnInterval) {
  SimulatedService::Options options = Options({"a"});
  options.settings.circuit_breaker.trip_on = {.fault_limit = false, .consecutive_failures = true};
  options.settings.circuit_breaker.consecutive_failures = 3;
  options.settings.circuit_breaker.window_size = absl::Milliseconds(100);
  SimulatedService service(std::move(options));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(service.breaker()->state(), BreakerState::kClosed);
    service.Call(InTurn({LostRequest()}));
    service.clock().Advance(absl::Milliseconds(400));
  }
  EXPECT_EQ(service.breaker()->state(), BreakerState::kOpen);
}

// resilience4j #515, #920, #1065: "breaker open" is itself retried, with its backoff.
TEST(BreakerPitfalls, ARefusalIsNeitherRetriedNorWaitedFor) {
  Node a(Node::Fault()), b;
  Settings settings = StaticSettings({a.endpoint(), b.endpoint()});
  CircuitBreakerSettings& breaker = settings.method_defaults.circuit_breaker;
  breaker.enabled = true;
  breaker.scope = kInstance;
  breaker.fault_limit = 1;
  settings.method_defaults.retry.max_retries = 3;
  settings.method_defaults.retry.idempotent = true;
  settings.method_defaults.retry.backoff.initial = absl::Seconds(1);
  settings.method_defaults.retry.backoff.jitter = 0;
  Caller caller(settings);
  while (a.arrivals() == 0) ASSERT_TRUE(caller.Delay().ok());
  const uint64_t retries = caller.counters().retries.load();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(caller.Delay().ok());
  EXPECT_EQ(a.arrivals(), 1) << "none while its breaker is open";
  EXPECT_EQ(caller.counters().retries.load(), retries);

  ASSERT_TRUE(caller.consumer()
                  .ForceBreaker(absl::StrCat(kHello, "@", b.endpoint()), BreakerState::kForcedOpen)
                  .ok());
  CallReport report;
  CallOptions options;
  options.report = &report;
  const absl::Status refused = caller.Delay(options);
  EXPECT_EQ(GetErrorInfo(refused)->reason(), reason::kCircuitBreakerOpen) << refused;
  EXPECT_TRUE(report.attempts.empty());
  EXPECT_EQ(caller.counters().retries.load(), retries);
  EXPECT_EQ(caller.consumer().Breakers(kHello).size(), 2u);
  EXPECT_TRUE(absl::IsNotFound(
      caller.consumer().ForceBreaker("demo.HelloService@nowhere:1", BreakerState::kClosed)));
}

}  // namespace
}  // namespace marpc
