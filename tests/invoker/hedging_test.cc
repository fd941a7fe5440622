// Hedged calls as CallSession decides them, step by step on a virtual clock.
#include "marpc/retry/hedging.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/struct.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/invoker/call_session.h"
#include "marpc/retry/result_rule.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using testing::HandlerFails;
using testing::LostRequest;
using testing::SimulatedService;

constexpr absl::Duration kDelay = absl::Milliseconds(50);

class HedgingTest : public ::testing::Test {
 protected:
  static SimulatedService::Options Options() {
    SimulatedService::Options options;
    options.name = "test.Hedging";
    options.instances = {"a", "b", "c"};
    options.settings.retry.hedging.enabled = true;
    options.settings.retry.hedging.delay = kDelay;
    options.settings.retry.hedging.max_share = 1;
    return options;
  }

  void Begin(SimulatedService::Options options) {
    service_.emplace(std::move(options));
    input_.method = &service_->method();
    input_.request = &nothing_;
    input_.reply = &reply_;
    input_.context = &context_;
    input_.report = &report_;
    session_.emplace(service_->cell(), input_);
    // Calls from before, so that the share has something to give.
    const std::shared_ptr<Hedging>& hedging = service_->state()->methods[0]->hedging;
    if (hedging == nullptr) return;
    for (int i = 0; i < calls_before_; ++i) hedging->OnCall(service_->clock().Now());
  }
  Step Start() { return session_->Start(service_->now()); }
  Step HedgeTime(const Step& step) {
    service_->clock().Set(step.hedge_at);
    return session_->OnHedgeTime(service_->now());
  }
  Step Ends(int attempt, AttemptOutcome outcome = {}) {
    return session_->OnAttemptDone(attempt, std::move(outcome), service_->now());
  }
  static SimulatedService::Options HalfOpenWithTwoProbes() {
    SimulatedService::Options options = Options();
    options.settings.circuit_breaker.enabled = true;
    options.settings.circuit_breaker.fault_limit = 1;
    options.settings.circuit_breaker.half_open_probes = 2;
    return options;
  }
  void OpenHalfway() {
    CircuitBreaker& breaker = *service_->breaker();
    breaker.OnFailure(breaker.TryAcquire(service_->clock().Now()).permit, service_->clock().Now());
    service_->clock().Advance(absl::Minutes(1));
    const std::shared_ptr<Hedging>& hedging = service_->state()->methods[0]->hedging;
    for (int i = 0; i < calls_before_; ++i) hedging->OnCall(service_->clock().Now());
    for (int i = 0; i < calls_before_; ++i) service_->budget()->Deposit(service_->clock().Now());
  }
  int ProbesOut() { return service_->breaker()->GetSnapshot(service_->clock().Now()).probes_out; }
  static std::string HostOf(const Step& step) { return step.instance->endpoint().host(); }

  const google::protobuf::Empty nothing_;
  google::protobuf::Value reply_;
  const RpcContext context_;
  CallReport report_;
  CallInput input_;
  std::optional<SimulatedService> service_;
  std::optional<CallSession> session_;
  int calls_before_ = 10;
};

TEST_F(HedgingTest, AnAttemptWithoutAnAnswerGetsCompanyOnAnotherInstance) {
  Begin(Options());
  const Step first = Start();
  EXPECT_EQ(HostOf(first), "a");
  EXPECT_EQ(first.hedge_at, service_->clock().Now() + kDelay);
  const Step second = HedgeTime(first);
  ASSERT_EQ(second.kind, Step::Kind::kAttempt);
  EXPECT_EQ(HostOf(second), "b");
  EXPECT_EQ(second.attempt, 1);
  EXPECT_TRUE(second.hedge_at.is_infinite()) << "maxHedges is 1";
  const Step end = Ends(1);
  ASSERT_EQ(end.kind, Step::Kind::kDone);
  EXPECT_TRUE(end.status.ok());
  EXPECT_EQ(service_->counters().hedges.load(), 1u);
  EXPECT_EQ(service_->counters().hedges_won.load(), 1u);
  EXPECT_EQ(service_->counters().retries.load(), 0u);
  ASSERT_EQ(report_.attempts.size(), 2u);
  EXPECT_EQ(report_.attempts[0].verdict(), "answered");
  EXPECT_EQ(report_.attempts[1].verdict(), "another attempt was answered first");
}

TEST_F(HedgingTest, AnAnswerInTimeMakesNoHedge) {
  Begin(Options());
  Start();
  EXPECT_EQ(Ends(0).kind, Step::Kind::kDone);
  EXPECT_EQ(service_->counters().hedges.load(), 0u);
}

TEST_F(HedgingTest, AMethodThatIsNotIdempotentIsNotHedged) {
  SimulatedService::Options options = Options();
  options.idempotent = false;
  Begin(std::move(options));
  EXPECT_TRUE(Start().hedge_at.is_infinite());
}

TEST_F(HedgingTest, WithOneInstanceTheCallGoesOnWaitingForIt) {
  SimulatedService::Options options = Options();
  options.instances = {"a"};
  Begin(std::move(options));
  const Step step = HedgeTime(Start());
  EXPECT_EQ(step.kind, Step::Kind::kGoOn);
  EXPECT_TRUE(step.hedge_at.is_infinite());
  EXPECT_TRUE(Ends(0).status.ok());
}

TEST_F(HedgingTest, NoInstanceIsUsedTwiceHoweverManyHedgesThereMayBe) {
  SimulatedService::Options options = Options();
  options.settings.retry.hedging.max_hedges = 5;
  Begin(std::move(options));
  const Step first = Start();
  const Step second = HedgeTime(first);
  const Step third = HedgeTime(second);
  EXPECT_THAT((std::vector{HostOf(first), HostOf(second), HostOf(third)}),
              ElementsAre("a", "b", "c"));
  EXPECT_EQ(HedgeTime(third).kind, Step::Kind::kGoOn);
}

TEST_F(HedgingTest, ALostAttemptLeavesTheWordToTheOther) {
  Begin(Options());
  HedgeTime(Start());
  const Step step = Ends(0, LostRequest().outcome);
  EXPECT_EQ(step.kind, Step::Kind::kGoOn);
  EXPECT_TRUE(Ends(1).status.ok());
}

TEST_F(HedgingTest, ALostAttemptIsFollowedByTheNextHedgeAtOnce) {
  SimulatedService::Options options = Options();
  options.settings.retry.hedging.max_hedges = 2;
  Begin(std::move(options));
  HedgeTime(Start());
  const Step step = Ends(0, LostRequest().outcome);
  ASSERT_EQ(step.kind, Step::Kind::kAttempt);
  EXPECT_EQ(HostOf(step), "c");
}

TEST_F(HedgingTest, AnErrorOfTheHandlerIsAnAnswer) {
  Begin(Options());
  HedgeTime(Start());
  const Step end = Ends(1, HandlerFails(absl::StatusCode::kNotFound, "no such user").outcome);
  ASSERT_EQ(end.kind, Step::Kind::kDone);
  EXPECT_EQ(end.status.code(), absl::StatusCode::kNotFound);
}

TEST_F(HedgingTest, AnAnswerThatAsksForAnotherTryLeavesTheWordToTheOther) {
  SimulatedService::Options options = Options();
  options.settings.retry.max_retries = 1;
  options.result_rule = *ResultRule::Parse("empty", *google::protobuf::Value::descriptor());
  Begin(std::move(options));
  HedgeTime(Start());
  EXPECT_EQ(Ends(1).kind, Step::Kind::kGoOn);
  EXPECT_EQ(service_->counters().hedges_won.load(), 0u) << "its answer is not the call's";
  reply_.set_string_value("done");
  const Step end = Ends(0);
  ASSERT_EQ(end.kind, Step::Kind::kDone);
  EXPECT_TRUE(end.status.ok());
  EXPECT_EQ(service_->counters().retries.load(), 0u);
}

TEST_F(HedgingTest, WhenAllAreLostTheCallIsRetriedAsAnyOther) {
  SimulatedService::Options options = Options();
  options.settings.retry.max_retries = 1;
  Begin(std::move(options));
  HedgeTime(Start());
  Ends(0, LostRequest().outcome);
  const Step retry = Ends(1, LostRequest().outcome);
  ASSERT_EQ(retry.kind, Step::Kind::kAttempt);
  EXPECT_EQ(HostOf(retry), "c");
  EXPECT_EQ(service_->counters().retries.load(), 1u);
  const Step end = Ends(2, LostRequest().outcome);
  ASSERT_EQ(end.kind, Step::Kind::kDone);
  EXPECT_EQ(GetErrorInfo(end.status)->attempts_size(), 3);
  EXPECT_THAT(end.status.message(), ::testing::HasSubstr("retried 1 times"));
}

TEST_F(HedgingTest, AHedgeIsPaidFromTheRetryBudget) {
  SimulatedService::Options options = Options();
  options.settings.retry.budget.percent_can_retry = 0.01;
  options.settings.retry.budget.min_retries_per_sec = 0;
  options.settings.retry.budget.initial = 0;
  Begin(std::move(options));
  EXPECT_EQ(HedgeTime(Start()).kind, Step::Kind::kGoOn);
  EXPECT_EQ(service_->counters().hedges_refused.load(), 1u);
}

TEST_F(HedgingTest, TheShareBoundsHedgesWhenEverythingIsSlow) {
  SimulatedService::Options options = Options();
  options.settings.retry.hedging.max_share = 0.1;
  calls_before_ = 0;
  Begin(std::move(options));
  const google::protobuf::Empty nothing;
  int hedges = 0;
  for (int call = 0; call < 1000; ++call) {
    session_.emplace(service_->cell(), input_);
    const Step first = Start();
    const Step second = HedgeTime(first);
    if (second.kind == Step::Kind::kAttempt) ++hedges;
    Ends(0);
  }
  EXPECT_LE(hedges, 100);
  EXPECT_GE(hedges, 80);
}

TEST_F(HedgingTest, ACalmDoesNotSaveUpHedgesForAStorm) {
  HedgingSettings settings;
  settings.enabled = true;
  settings.max_share = 0.1;
  SimulatedClock clock;
  Hedging hedging(settings, clock.Now());
  for (int call = 0; call < 2000; ++call) {  // 100 a second
    hedging.OnCall(clock.Now());
    clock.Advance(absl::Milliseconds(10));
  }
  int hedges = 0;
  for (int call = 0; call < 100; ++call) {
    hedging.OnCall(clock.Now());
    if (hedging.TryTake(clock.Now()).has_value()) ++hedges;
    clock.Advance(absl::Milliseconds(10));
  }
  EXPECT_GE(hedges, 10);
  EXPECT_LE(hedges, 22) << "a second's share, and what a second saves";
}

TEST_F(HedgingTest, ARareCallIsHedgedToo) {
  HedgingSettings settings;
  settings.enabled = true;
  settings.max_share = 0.2;
  SimulatedClock clock;
  Hedging hedging(settings, clock.Now());
  for (int call = 0; call < 5; ++call) {
    EXPECT_FALSE(hedging.TryTake(clock.Now()).has_value());
    hedging.OnCall(clock.Now());
    clock.Advance(absl::Seconds(1.5));
  }
  EXPECT_TRUE(hedging.TryTake(clock.Now()).has_value());
}

TEST_F(HedgingTest, APeersPushBackSaysWhenTheNextHedgeMayGo) {
  SimulatedService::Options options = Options();
  options.settings.retry.hedging.max_hedges = 2;
  Begin(std::move(options));
  HedgeTime(Start());
  AttemptOutcome lost = LostRequest().outcome;
  lost.pushback = absl::Milliseconds(700);
  const Step step = Ends(0, lost);
  ASSERT_EQ(step.kind, Step::Kind::kGoOn);
  EXPECT_EQ(step.hedge_at, service_->clock().Now() + absl::Milliseconds(700));
  EXPECT_EQ(HedgeTime(step).kind, Step::Kind::kAttempt);
}

TEST_F(HedgingTest, APeerMayForbidHedges) {
  SimulatedService::Options options = Options();
  options.settings.retry.hedging.max_hedges = 2;
  Begin(std::move(options));
  HedgeTime(Start());
  AttemptOutcome lost = LostRequest().outcome;
  lost.pushback = -absl::Milliseconds(1);
  const Step step = Ends(0, lost);
  ASSERT_EQ(step.kind, Step::Kind::kGoOn);
  EXPECT_TRUE(step.hedge_at.is_infinite());
  EXPECT_EQ(session_->OnHedgeTime(service_->now()).kind, Step::Kind::kGoOn);
}

TEST_F(HedgingTest, AThrottleStopsHedgesToo) {
  SimulatedService::Options options = Options();
  options.settings.retry.throttle.enabled = true;
  Begin(std::move(options));
  const Step first = Start();
  while (service_->throttle()->AllowsRetry()) service_->throttle()->OnFailure();
  EXPECT_EQ(HedgeTime(first).kind, Step::Kind::kGoOn);
  EXPECT_EQ(service_->counters().hedges_refused.load(), 1u);
}

TEST_F(HedgingTest, AHedgeTakesAPermitOfTheBreakerAndTheLoserGivesItBack) {
  Begin(HalfOpenWithTwoProbes());
  OpenHalfway();
  HedgeTime(Start());
  EXPECT_EQ(ProbesOut(), 2);
  AttemptOutcome cancelled;  // which says nothing of its own peer
  cancelled.status = absl::CancelledError("");
  cancelled.source = AttemptOutcome::Source::kLocal;
  EXPECT_EQ(Ends(1, cancelled).kind, Step::Kind::kDone);
  EXPECT_EQ(ProbesOut(), 0);
}

TEST_F(HedgingTest, TheDelayFollowsAPercentileOfTheMethodsOwnLatency) {
  SimulatedService::Options options = Options();
  options.settings.retry.hedging.percentile = 90;
  Begin(std::move(options));
  for (int call = 0; call < 100; ++call) {
    session_.emplace(service_->cell(), input_);
    const Step first = Start();
    EXPECT_TRUE(first.hedge_at.is_infinite()) << "too little is known";
    service_->clock().Advance(absl::Milliseconds(call % 10 == 0 ? 100 : 10));
    Ends(0);
  }
  service_->clock().Advance(absl::Seconds(1));  // it is looked up now and then, not at every call
  session_.emplace(service_->cell(), input_);
  const absl::Duration delay = Start().hedge_at - service_->clock().Now();
  EXPECT_GE(delay, absl::Milliseconds(10));
  EXPECT_LE(delay, absl::Milliseconds(11.5));
}

TEST_F(HedgingTest, ACallInTheServiceOfARetryIsNotHedged) {
  Begin(Options());
  RpcContext context;
  auto inbound = std::make_shared<InboundCall>();
  inbound->previous_attempts = 1;
  context.set_inbound(std::move(inbound));
  input_.context = &context;
  session_.emplace(service_->cell(), input_);
  EXPECT_EQ(HedgeTime(Start()).kind, Step::Kind::kGoOn);
}

TEST_F(HedgingTest, ASessionThatIsDroppedWithAttemptsInFlightGivesItsPermitsBack) {
  Begin(HalfOpenWithTwoProbes());
  OpenHalfway();
  HedgeTime(Start());
  EXPECT_EQ(ProbesOut(), 2);
  session_.reset();
  EXPECT_EQ(ProbesOut(), 0);
}

}  // namespace
}  // namespace marpc
