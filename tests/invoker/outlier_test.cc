// Outlier ejection and slow start in the way of a call.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/loadbalance/random_balancer.h"
#include "marpc/router/gray_router.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using testing::Answer;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::HandlerFails;
using ::testing::IsEmpty;
using testing::LostRequest;
using ::testing::Not;
using testing::SimulatedAttempt;
using testing::SimulatedBackend;
using testing::SimulatedResult;
using testing::SimulatedService;

SimulatedService::Options Options() {
  SimulatedService::Options options;
  options.name = "test.Outlier";
  options.instances = {"a", "b", "c", "d"};
  options.outlier.enabled = true;
  options.outlier.consecutive_errors.threshold = 2;
  options.settings.retry.budget.enabled = false;
  return options;
}

// The peer answers these instances' calls with a status, which leaves them reachable.
SimulatedAttempt PeerFails() {
  SimulatedAttempt attempt;
  attempt.outcome.status = absl::UnavailableError("sick");
  attempt.outcome.source = AttemptOutcome::Source::kPeer;
  return attempt;
}

SimulatedBackend Sick(std::set<std::string> sick) {
  return [sick = std::move(sick)](const std::string& instance, const Step&) {
    return sick.contains(instance) ? PeerFails() : Answer();
  };
}

// Calls until `name` is ejected.
void Eject(SimulatedService& service, const std::string& name) {
  for (int i = 0; i < 1000 && !service.ejected().contains(name); ++i) service.Call(Sick({name}));
  ASSERT_TRUE(service.ejected().contains(name));
}

std::map<std::string, int> Seen(SimulatedService& service, const SimulatedBackend& backend,
                                int calls) {
  std::map<std::string, int> seen;
  for (int i = 0; i < calls; ++i) {
    const SimulatedResult result = service.Call(backend);
    ++seen[result.instances.empty() ? result.reason() : result.instances[0]];
  }
  return seen;
}

using Counts = std::map<std::string, int>;

TEST(OutlierInSession, AnInstanceThatGaveNoAnswerForLongIsLedBackByTheSlowStart) {
  SimulatedService::Options options = Options();
  options.outlier.enabled = false;
  options.slow_start.window = absl::Seconds(100);
  SimulatedService service(std::move(options));
  service.clock().Advance(absl::Seconds(200));
  const SimulatedBackend b_is_gone = [](const std::string& instance, const Step&) {
    return instance == "b" ? LostRequest() : Answer();
  };
  const auto away = [&](absl::Duration time) {
    Seen(service, b_is_gone, 4);
    service.clock().Advance(time);
    // One that finds it back.
    for (int i = 0; i < 4 && !Seen(service, Sick({}), 1).contains("b"); ++i) {
    }
  };
  away(absl::Seconds(4));
  EXPECT_EQ(Seen(service, Sick({}), 400)["b"], 100) << "a hiccup";
  away(absl::Seconds(6));
  const int share = Seen(service, Sick({}), 310)["b"];
  EXPECT_GE(share, 8);
  EXPECT_LE(share, 12);
}

TEST(OutlierInSession, AnEjectedInstanceGetsNoCallUntilItsTimeIsOver) {
  SimulatedService service(Options());
  Eject(service, "b");
  EXPECT_EQ(Seen(service, Sick({"b"}), 30), (Counts{{"a", 10}, {"c", 10}, {"d", 10}}));
  EXPECT_EQ(service.counters().panic_picks.load(), 0u);
  service.clock().Advance(absl::Seconds(41));
  EXPECT_EQ(Seen(service, Sick({}), 40), (Counts{{"a", 10}, {"b", 10}, {"c", 10}, {"d", 10}}));
}

TEST(OutlierInSession, OffItTouchesNothing) {
  SimulatedService::Options options = Options();
  options.outlier.enabled = false;
  SimulatedService service(std::move(options));
  EXPECT_EQ(service.state()->ejections, nullptr);
  EXPECT_EQ(service.state()->slow_start, nullptr);
  EXPECT_EQ(Seen(service, Sick({"a"}), 40), (Counts{{"a", 10}, {"b", 10}, {"c", 10}, {"d", 10}}));
}

TEST(OutlierInSession, TheRandomBalancerAvoidsItToo) {
  SimulatedService::Options options = Options();
  options.balancer = std::make_unique<RandomBalancer>();
  SimulatedService service(std::move(options));
  for (int i = 0; i < 4000; ++i) service.random().draws.push_back(i % 7 / 7.0);
  Eject(service, "b");
  EXPECT_THAT(Seen(service, Sick({}), 200), Not(Contains(::testing::Key("b"))));
}

TEST(OutlierInSession, ARetryAvoidsItThoughItWasNotTried) {
  SimulatedService::Options options = Options();
  options.instances = {"a", "b", "c"};
  options.settings.retry.max_retries = 5;
  SimulatedService service(std::move(options));
  Eject(service, "b");
  const SimulatedResult result = service.Call(testing::InTurn({testing::LostRequest()}));
  EXPECT_THAT(result.instances, ::testing::SizeIs(6));
  EXPECT_THAT(result.instances, Not(Contains("b")));
}

TEST(OutlierInSession, AHedgeAvoidsIt) {
  SimulatedService::Options options = Options();
  options.instances = {"a", "b", "c"};
  options.settings.retry.hedging.enabled = true;
  options.settings.retry.hedging.max_hedges = 2;
  options.settings.retry.hedging.max_share = 1;
  SimulatedService service(std::move(options));
  Eject(service, "b");
  const google::protobuf::Empty request;
  google::protobuf::Empty reply;
  const RpcContext context;
  CallInput input;
  input.method = &service.method();
  input.request = &request;
  input.reply = &reply;
  input.context = &context;
  CallSession session(service.cell(), input);
  const Step first = session.Start(service.now());
  ASSERT_EQ(first.kind, Step::Kind::kAttempt);
  const Step second = session.OnHedgeTime(service.now());
  ASSERT_EQ(second.kind, Step::Kind::kAttempt);
  EXPECT_THAT((std::set<std::string>{first.instance->endpoint().host(),
                                     second.instance->endpoint().host()}),
              ElementsAre("a", "c"));
  EXPECT_EQ(session.OnHedgeTime(service.now()).kind, Step::Kind::kGoOn) << "b alone is left";
}

TEST(OutlierInSession, ACallThatStaysWithItsInstanceLeavesAnEjectedOne) {
  SimulatedService::Options options = Options();
  options.settings.retry.switch_instance_on_retry = false;
  options.settings.retry.max_retries = 2;
  options.outlier.consecutive_errors.threshold = 1;
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(testing::InTurn({testing::LostRequest()}));
  ASSERT_THAT(result.instances, ::testing::SizeIs(3));
  EXPECT_EQ(result.instances[0], "a");
  EXPECT_THAT((std::vector<std::string>{result.instances[1], result.instances[2]}),
              Each(::testing::Ne("a")));
}

TEST(OutlierInSession, InPanicAllAreUsedAndItIsCounted) {
  SimulatedService::Options options = Options();
  options.outlier.max_ejection_percent = 100;
  options.outlier.panic_threshold = 50;
  SimulatedService service(std::move(options));
  const SimulatedBackend sick = Sick({"a", "b", "c"});
  while (service.ejected().size() < 3) service.Call(sick);
  const uint64_t before = service.counters().panic_picks.load();
  EXPECT_EQ(Seen(service, sick, 40), (Counts{{"a", 10}, {"b", 10}, {"c", 10}, {"d", 10}}));
  EXPECT_EQ(service.counters().panic_picks.load(), before + 40);
  EXPECT_TRUE(service.outliers().panic);
}

TEST(OutlierInSession, EjectionsNeverRefuseACall) {
  SimulatedService::Options options = Options();
  options.outlier.max_ejection_percent = 100;
  options.outlier.panic_threshold = 0;
  SimulatedService service(std::move(options));
  const SimulatedBackend sick = Sick({"a", "b", "c", "d"});
  while (service.ejected().size() < 4) service.Call(sick);
  const uint64_t before = service.counters().panic_picks.load();
  EXPECT_EQ(Seen(service, Sick({}), 40), (Counts{{"a", 10}, {"b", 10}, {"c", 10}, {"d", 10}}));
  EXPECT_EQ(service.counters().panic_picks.load(), before + 40);
  EXPECT_EQ(service.counters().without_instance.load(), 0u);
}

TEST(OutlierInSession, ARouterIsLeftForItsOtherSideBeforeAnEjectedInstanceIsUsed) {
  SimulatedService::Options options = Options();
  options.gray = {"d"};
  GrayRouterSettings gray;
  gray.enabled = true;
  gray.ratio = 100;
  options.routers = {GrayRouter::Create(gray).value()};
  SimulatedService service(std::move(options));
  Eject(service, "d");
  EXPECT_THAT(Seen(service, Sick({"d"}), 30), Not(Contains(::testing::Key("d"))));
  EXPECT_GT(service.counters().router_fallbacks.load(), 29u);
}

TEST(OutlierInSession, AnOpenBreakerIsRespectedWhereEjectedInstancesAreUsed) {
  SimulatedService::Options options = Options();
  options.instances = {"a", "b"};
  options.settings.circuit_breaker.enabled = true;
  options.settings.circuit_breaker.scope = {false, false, true};
  SimulatedService service(std::move(options));
  service.breaker("@a:1").Force(BreakerState::kForcedOpen, service.clock().Now());
  Eject(service, "b");
  EXPECT_EQ(Seen(service, Sick({}), 10), (Counts{{"b", 10}}));
}

TEST(OutlierInSession, WhatCountsAsAnErrorIsWhatCountsForBreakers) {
  SimulatedService::Options options = Options();
  options.outlier.consecutive_errors.threshold = 1;
  SimulatedService service(std::move(options));
  service.Call(testing::InTurn({HandlerFails(absl::StatusCode::kInternal, "no")}));
  EXPECT_THAT(service.ejected(), IsEmpty()) << "the handler answered";
  service.Call(testing::InTurn({testing::LostRequest()}));
  EXPECT_THAT(service.ejected(), ElementsAre("b"));
}

TEST(OutlierInSession, OtherFailuresCountWhereTheyAreRecordedAndNoneWhereIgnored) {
  SimulatedService::Options options = Options();
  options.outlier.consecutive_errors.threshold = 1;
  options.outlier.record = {"INTERNAL"};
  options.outlier.ignore = {"CONNECTION"};
  SimulatedService service(std::move(options));
  service.Call(testing::InTurn({testing::RefusedConnect()}));
  EXPECT_THAT(service.ejected(), IsEmpty());
  service.Call(testing::InTurn({HandlerFails(absl::StatusCode::kInternal, "no")}));
  EXPECT_THAT(service.ejected(), ElementsAre("b"));
}

TEST(OutlierInSession, ASlowInstanceIsEjectedByItsLatency) {
  SimulatedService::Options options = Options();
  options.outlier.eject_on = {false, false, false, false, true};
  options.outlier.latency.request_volume = 10;
  SimulatedService service(std::move(options));
  const SimulatedBackend backend = [](const std::string& instance, const Step&) {
    SimulatedAttempt attempt = Answer();
    attempt.takes = absl::Milliseconds(instance == "c" ? 400 : 20);
    return attempt;
  };
  for (int i = 0; i < 80; ++i) service.Call(backend);
  service.clock().Advance(absl::Seconds(10));
  EXPECT_THAT(service.ejected(), ElementsAre("c"));
}

// A process that is stopped answers nothing, and its calls take all their time.
TEST(OutlierInSession, AHangingInstanceIsEjectedByItsLatencyToo) {
  SimulatedService::Options options = Options();
  options.outlier.eject_on = {false, false, false, false, true};
  options.outlier.latency.request_volume = 5;
  options.outlier.interval = absl::Minutes(10);
  options.settings.retry.timeout = absl::Milliseconds(200);
  SimulatedService service(std::move(options));
  const SimulatedBackend backend = [](const std::string& instance, const Step&) {
    return instance == "c" ? testing::Hang() : Answer();
  };
  for (int i = 0; i < 100; ++i) {
    service.Call(backend);
    service.clock().Advance(absl::Seconds(1));
  }
  service.clock().Advance(absl::Minutes(10));
  const OutlierSnapshot snapshot = service.outliers();
  EXPECT_EQ(snapshot.counters.ejections[static_cast<int>(EjectionReason::kLatency)], 1u);
  EXPECT_EQ(snapshot.events[0].instance, "c:1");
}

SlowStartSettings TenSeconds() { return {absl::Seconds(10), 1, 10}; }

TEST(SlowStartInSession, AnInstanceThatJoinsIsLedToItsFullShare) {
  SimulatedService::Options options = Options();
  options.instances = {"a", "b", "c"};
  options.slow_start = TenSeconds();
  SimulatedService service(std::move(options));
  EXPECT_EQ(Seen(service, Sick({}), 30), (Counts{{"a", 10}, {"b", 10}, {"c", 10}}));
  service.clock().Advance(absl::Minutes(1));
  service.SetInstances({"a", "b", "c", "d"});
  EXPECT_NEAR(Seen(service, Sick({}), 310)["d"], 10, 1);
  service.clock().Advance(absl::Seconds(5));
  EXPECT_NEAR(Seen(service, Sick({}), 350)["d"], 50, 1);
  service.clock().Advance(absl::Seconds(5));
  EXPECT_EQ(Seen(service, Sick({}), 40)["d"], 10);
}

TEST(SlowStartInSession, AnEjectedInstanceThatIsLetInAgainStartsSlowly) {
  SimulatedService::Options options = Options();
  options.slow_start = TenSeconds();
  SimulatedService service(std::move(options));
  service.clock().Advance(absl::Minutes(1));
  Eject(service, "b");
  service.clock().Advance(absl::Seconds(41));
  EXPECT_NEAR(Seen(service, Sick({}), 310)["b"], 10, 1);
}

TEST(SlowStartInSession, AnInstanceWhoseBreakerHasClosedStartsSlowly) {
  SimulatedService::Options options = Options();
  options.outlier.enabled = false;
  options.slow_start = TenSeconds();
  options.settings.circuit_breaker.enabled = true;
  options.settings.circuit_breaker.scope = {false, false, true};
  SimulatedService service(std::move(options));
  service.clock().Advance(absl::Minutes(1));
  CircuitBreaker& breaker = service.breaker("@b:1");
  breaker.Force(BreakerState::kForcedOpen, service.clock().Now());
  breaker.Reset(service.clock().Now());
  EXPECT_NEAR(Seen(service, Sick({}), 310)["b"], 10, 1);
}

TEST(SlowStartInSession, AnotherLifeOfAProcessStartsSlowly) {
  SimulatedService::Options options = Options();
  options.slow_start = TenSeconds();
  SimulatedService service(std::move(options));
  service.clock().Advance(absl::Minutes(1));
  service.Restart("b");
  EXPECT_NEAR(Seen(service, Sick({}), 310)["b"], 10, 1);
}

}  // namespace
}  // namespace marpc
