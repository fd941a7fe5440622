// The operator's states, what a breaker tells of itself, and calls through one.
#include <stdexcept>
#include <string>

#include "marpc/base/error.h"
#include "marpc/circuitbreaker/breaker_call.h"
#include "tests/circuitbreaker/breaker_fixture.h"

namespace marpc::testing {
namespace {

class OperatorTest : public BreakerFixture {
 protected:
  void SetUp() override {
    BreakerRules rules;
    rules.fault_limit = 2;
    Use(rules);
  }
  BreakerCall call() const { return {.name = "query", .clock = clock_}; }
};

TEST_F(OperatorTest, ForcedOpenLetsNothingThroughUntilItIsReset) {
  breaker_->Force(BreakerState::kForcedOpen, clock_.Now());
  clock_.Advance(absl::Hours(24));
  const auto refused = Acquire();
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.refusal, BreakerRefusal::kForcedOpen);
  EXPECT_FALSE(breaker_->MayAdmit(clock_.Now()));
  breaker_->Reset(clock_.Now());
  EXPECT_TRUE(Acquire().allowed);
}

TEST_F(OperatorTest, DisabledLetsAllThroughAndCountsNothing) {
  breaker_->Force(BreakerState::kDisabled, clock_.Now());
  Fail(100);
  EXPECT_TRUE(Acquire().allowed);
  EXPECT_EQ(state(), BreakerState::kDisabled);
  EXPECT_EQ(snapshot().failures, 0);
}

TEST_F(OperatorTest, MetricsOnlyLetsAllThroughAndCounts) {
  BreakerRules rules;
  rules.trip_on = {.fault_limit = true, .failure_rate = true};
  rules.initial_state = BreakerInitialState::kMetricsOnly;
  Use(rules);
  Fail(100);
  EXPECT_TRUE(Acquire().allowed);
  EXPECT_EQ(state(), BreakerState::kMetricsOnly);
  EXPECT_EQ(snapshot().failures, 100);
  EXPECT_EQ(snapshot().calls, (CallCounts{100, 100, 0}));
}

TEST_F(OperatorTest, BeginsWithoutATransitionInAStateThatIsNotItsRules) {
  breaker_->BeginIn(BreakerState::kForcedOpen);
  EXPECT_EQ(Acquire().refusal, BreakerRefusal::kForcedOpen);
  EXPECT_FALSE(breaker_->MayAdmit(clock_.Now()));
  breaker_->Reset(clock_.Now());
  EXPECT_TRUE(Acquire().allowed);
  EXPECT_EQ(transitions_.size(), 1u);
  Use(breaker_->settings());
  breaker_->BeginIn(BreakerState::kMetricsOnly);
  Fail(100);
  EXPECT_EQ(state(), BreakerState::kMetricsOnly);
}

TEST_F(OperatorTest, BeginsInTheStateThatItIsToldTo) {
  BreakerRules rules;
  rules.initial_state = BreakerInitialState::kForcedOpen;
  Use(rules);
  EXPECT_FALSE(Acquire().allowed);
  rules.initial_state = BreakerInitialState::kDisabled;
  Use(rules);
  EXPECT_EQ(state(), BreakerState::kDisabled);
}

TEST_F(OperatorTest, KeepsItsLastHundredTransitions) {
  for (int i = 0; i < 70; ++i) {
    Fail(2);
    breaker_->Reset(clock_.Now());
    clock_.Advance(absl::Seconds(1));
  }
  const auto events = breaker_->Events();
  ASSERT_EQ(events.size(), 100u);
  EXPECT_EQ(events.front().to, BreakerState::kOpen);
  EXPECT_EQ(events.front().reason, BreakerReason::kFaultLimit);
  EXPECT_EQ(events.front().failures, 2);
  EXPECT_EQ(events.front().wait, absl::Seconds(10));
  EXPECT_EQ(events.back().reason, BreakerReason::kReset);
  EXPECT_EQ(clock_.Now() - events.front().at, absl::Seconds(50));
  EXPECT_EQ(snapshot().times_opened, 70u);
}

TEST_F(OperatorTest, StaysBelowAKibibyteInEveryKindThatHasADefaultSize) {
  const size_t breaker = sizeof(CircuitBreaker) + 16 * sizeof(MonotonicTime);
  EXPECT_LT(breaker, 640u);
  const size_t time_window = sizeof(void*) * 7 + 3 * 2 * 64;
  EXPECT_LT(breaker + time_window, 1024u);
  EXPECT_LT(breaker + 100 + sizeof(SlowCalls), 1024u) << "with a window of 100 calls";
}

TEST_F(OperatorTest, CallRunsTheCallableAndRecordsItsStatus) {
  EXPECT_EQ(*breaker_->Call([] { return absl::StatusOr<int>(7); }, call()), 7);
  EXPECT_EQ(*breaker_->Call([] { return std::string("any"); }, call()), "any");
  EXPECT_TRUE(breaker_->Call([] {}, call()).ok());
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(absl::IsNotFound(breaker_->Call([] { return absl::NotFoundError("x"); }, call())));
  }
  EXPECT_EQ(state(), BreakerState::kClosed) << "an answer is a success";
  int ran = 0;
  const auto lost = [&] {
    ++ran;
    return absl::UnavailableError("lost");
  };
  for (int i = 0; i < 5; ++i) breaker_->Call(lost, call()).IgnoreError();
  EXPECT_EQ(ran, 2);
  const absl::Status refused = breaker_->Call(lost, call());
  EXPECT_EQ(GetErrorInfo(refused)->reason(), reason::kCircuitBreakerOpen);
  EXPECT_EQ(GetErrorInfo(refused)->retry_after().seconds(), 10);
}

TEST_F(OperatorTest, WhatTheCallableThrowsIsAFailureAndGoesOn) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(breaker_->Call([]() -> absl::Status { throw std::runtime_error("x"); }, call())
                     .IgnoreError(),
                 std::runtime_error);
  }
  EXPECT_EQ(state(), BreakerState::kOpen);
}

TEST_F(OperatorTest, ACancelledProbeIsGivenBack) {
  OpenAndWait();
  breaker_->Call([] { return absl::CancelledError("by its caller"); }, call()).IgnoreError();
  EXPECT_EQ(state(), BreakerState::kHalfOpen);
  EXPECT_TRUE(breaker_->Call([] { return absl::OkStatus(); }, call()).ok());
  EXPECT_EQ(state(), BreakerState::kClosed);
}

TEST_F(OperatorTest, TheCallerMayJudgeForItself) {
  BreakerCall own = {.name = "query",
                     .judge =
                         [](const absl::Status& status) {
                           return absl::IsNotFound(status) ? BreakerVerdict::kFailure
                                                           : BreakerVerdict::kSuccess;
                         },
                     .clock = clock_};
  for (int i = 0; i < 2; ++i) {
    breaker_->Call([] { return absl::NotFoundError("x"); }, own).IgnoreError();
  }
  EXPECT_EQ(state(), BreakerState::kOpen);
}

}  // namespace
}  // namespace marpc::testing
