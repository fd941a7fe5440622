// What opens a breaker.
#include <string>
#include <vector>

#include "tests/circuitbreaker/breaker_fixture.h"

namespace marpc::testing {
namespace {

class TripsTest : public BreakerFixture {
 protected:
  static BreakerRules On(BreakerTrips trips) {
    BreakerRules rules;
    rules.trip_on = trips;
    rules.minimum_calls = 4;
    return rules;
  }
  static BreakerRules OnFailureRate() { return On({.fault_limit = false, .failure_rate = true}); }
  static BreakerRules OnSlowCalls() {
    BreakerRules rules = On({.fault_limit = false, .slow_call_rate = true});
    rules.slow_call_duration = absl::Seconds(1);
    rules.minimum_calls = 2;
    return rules;
  }
  static BreakerRules OverCalls(BreakerRules rules, int calls) {
    rules.rate_window = RateWindowKind::kCalls;
    rules.rate_window_calls = calls;
    return rules;
  }
};

TEST_F(TripsTest, ConsecutiveFailuresOpenItHoweverFarApart) {
  BreakerRules rules = On({.fault_limit = false, .consecutive_failures = true});
  rules.consecutive_failures = 3;
  Use(rules);
  Fail(2);
  clock_.Advance(absl::Hours(5));
  Fail();
  EXPECT_EQ(state(), BreakerState::kOpen);
  EXPECT_EQ(transitions_.back().reason, BreakerReason::kConsecutiveFailures);
}

TEST_F(TripsTest, ASuccessStartsConsecutiveFailuresOver) {
  BreakerRules rules = On({.fault_limit = false, .consecutive_failures = true});
  rules.consecutive_failures = 3;
  Use(rules);
  for (int i = 0; i < 10; ++i) {
    Fail(2);
    Succeed();
  }
  EXPECT_EQ(state(), BreakerState::kClosed);
}

TEST_F(TripsTest, AllFailuresOfTheRatesWindowAreTold) {
  BreakerRules rules = OnFailureRate();
  rules.minimum_calls = 20;
  Use(rules);
  Fail(20);
  ASSERT_EQ(state(), BreakerState::kOpen);
  EXPECT_EQ(transitions_.back().failures, 20);
  EXPECT_EQ(snapshot().failures, 20);
}

TEST_F(TripsTest, ARateIsJudgedFromTheMinimumOfCallsOn) {
  Use(OnFailureRate());
  Fail(3);
  EXPECT_EQ(state(), BreakerState::kClosed);
  Fail();
  EXPECT_EQ(state(), BreakerState::kOpen);
  EXPECT_EQ(transitions_.back().reason, BreakerReason::kFailureRate);
  EXPECT_EQ(transitions_.back().calls, (CallCounts{4, 4, 0}));
}

TEST_F(TripsTest, ASuccessMayBeTheCallThatOpensItUnlessItMayNot) {
  BreakerRules rules = OnFailureRate();
  Use(rules);
  Fail(3);
  Succeed();
  EXPECT_EQ(state(), BreakerState::kOpen);

  rules.success_may_trip = false;
  Use(rules);
  Fail(3);
  Succeed();
  EXPECT_EQ(state(), BreakerState::kClosed);
  Fail();
  EXPECT_EQ(state(), BreakerState::kOpen);
}

TEST_F(TripsTest, ATimeWindowForgetsABucketAtATime) {
  Use(OnFailureRate());  // 10 s in steps of 1 s; the clock starts at a whole second
  Fail(2);
  clock_.Advance(absl::Seconds(10) - kMs);
  EXPECT_EQ(snapshot().calls, (CallCounts{2, 2, 0}));
  clock_.Advance(kMs);
  EXPECT_EQ(snapshot().calls, CallCounts());
  Fail(3);
  EXPECT_EQ(state(), BreakerState::kClosed);
  Fail();
  EXPECT_EQ(state(), BreakerState::kOpen);
}

TEST_F(TripsTest, ATimeWindowOfOneBucketStartsOver) {
  BreakerRules rules = OnFailureRate();
  rules.rate_window_buckets = 1;
  Use(rules);
  clock_.Advance(absl::Seconds(10) - kMs - (clock_.Now() - MonotonicTime()));
  Fail(3);
  clock_.Advance(kMs);
  Fail(3);
  EXPECT_EQ(state(), BreakerState::kClosed);
}

TEST_F(TripsTest, AWindowOfCallsHoldsTheLatestWhateverTheTime) {
  Use(OverCalls(OnFailureRate(), 4));
  Fail();
  clock_.Advance(absl::Hours(3));
  Succeed(3);
  EXPECT_EQ(snapshot().calls, (CallCounts{4, 1, 0}));
  Succeed();
  EXPECT_EQ(snapshot().calls, (CallCounts{4, 0, 0}));
  Fail();
  EXPECT_EQ(state(), BreakerState::kClosed);
  Fail();
  EXPECT_EQ(state(), BreakerState::kOpen) << "2 of the last 4";
}

TEST_F(TripsTest, AWindowOfCallsIsRightAfterManyRounds) {
  Use(OverCalls(OnFailureRate(), 7));
  std::vector<bool> failed;
  SeededRandom random(3);
  for (int i = 0; i < 1000; ++i) {
    failed.push_back(random.Below(5) == 0);
    failed.back() ? Fail() : Succeed();
    if (state() != BreakerState::kClosed) {
      breaker_->Reset(clock_.Now());
      failed.clear();
      continue;
    }
    CallCounts expected;
    for (size_t j = failed.size() > 7 ? failed.size() - 7 : 0; j < failed.size(); ++j) {
      expected += {1, failed[j], 0};
    }
    ASSERT_EQ(snapshot().calls, expected) << i;
  }
}

TEST_F(TripsTest, AWindowOfFewerCallsThanTheMinimumIsJudgedWhenItIsFull) {
  BreakerRules rules = OverCalls(OnFailureRate(), 3);
  rules.minimum_calls = 100;
  Use(rules);
  Fail(2);
  EXPECT_EQ(state(), BreakerState::kClosed);
  Fail();
  EXPECT_EQ(state(), BreakerState::kOpen);
}

TEST_F(TripsTest, FailedCallsOpenItByTheirNumber) {
  BreakerRules rules = OverCalls(On({.fault_limit = false, .failed_calls = true}), 10);
  rules.failed_calls = 3;
  rules.minimum_calls = 1;
  Use(rules);
  Succeed(7);
  Fail(2);
  EXPECT_EQ(state(), BreakerState::kClosed);
  Fail();
  EXPECT_EQ(state(), BreakerState::kOpen);
  EXPECT_EQ(transitions_.back().reason, BreakerReason::kFailedCalls);
}

TEST_F(TripsTest, ACallIsSlowWhenItTakesLongerThanTheThreshold) {
  Use(OnSlowCalls());
  Succeed(3, absl::Seconds(1));
  EXPECT_EQ(snapshot().calls.slow, 0);
  Succeed(3, absl::Seconds(1) + kMs);
  EXPECT_EQ(state(), BreakerState::kOpen);
  EXPECT_EQ(transitions_.back().reason, BreakerReason::kSlowCallRate);
  EXPECT_EQ(transitions_.back().calls, (CallCounts{6, 0, 3}));
}

TEST_F(TripsTest, CallsThatHangAreSlowAsSoonAsTheyPassTheThreshold) {
  Use(OnSlowCalls());
  const auto first = Acquire();
  const auto second = Acquire();
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(Acquire().allowed) << "not longer than the threshold yet";
  clock_.Advance(kMs);
  const auto refused = Acquire();
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(state(), BreakerState::kOpen);
  EXPECT_EQ(transitions_.back().reason, BreakerReason::kSlowCallRate);
  EXPECT_EQ(transitions_.back().calls, (CallCounts{2, 0, 2}));
  // Their results are of before.
  breaker_->OnSuccess(first.permit, clock_.Now());
  breaker_->OnFailure(second.permit, clock_.Now());
  EXPECT_EQ(state(), BreakerState::kOpen);
}

TEST_F(TripsTest, ACallIsCountedOnceThoughItHungBeforeItEnded) {
  for (const bool over_calls : {false, true}) {
    BreakerRules rules = OnSlowCalls();
    rules.trip_on.failure_rate = true;
    rules.minimum_calls = 100;
    if (over_calls) rules = OverCalls(rules, 200);
    Use(rules);
    const auto ends_well = Acquire();
    const auto fails = Acquire();
    const auto cancelled = Acquire();
    clock_.Advance(absl::Seconds(1.1));
    breaker_->CatchUp(clock_.Now());
    EXPECT_EQ(snapshot().calls, (CallCounts{3, 0, 3}));
    breaker_->OnSuccess(ends_well.permit, clock_.Now());
    breaker_->OnFailure(fails.permit, clock_.Now());
    breaker_->Release(cancelled.permit);
    EXPECT_EQ(snapshot().calls, (CallCounts{3, 1, 3})) << over_calls;
  }
}

TEST_F(TripsTest, CallsThatHangForEverDoNotGetLostAmongMany) {
  BreakerRules rules = OnSlowCalls();
  rules.minimum_calls = 1'000'000;
  rules.rate_window_size = absl::Hours(1);
  Use(rules);
  int hanging = 0;
  for (int i = 0; i < 2000; ++i) {
    if (i % 10 == 0) {
      Acquire();
      ++hanging;
    }
    Succeed();
    clock_.Advance(absl::Milliseconds(7));
  }
  clock_.Advance(absl::Seconds(2));
  breaker_->CatchUp(clock_.Now());
  EXPECT_EQ(snapshot().calls, (CallCounts{2000 + hanging, 0, hanging}));
}

TEST_F(TripsTest, SlowCallsMayCountAsFailuresWhateverTheyAnswerAndWhileTheyHang) {
  BreakerRules rules;  // faultLimit 5
  rules.slow_calls_fail = true;
  Use(rules);
  Succeed(4, absl::Seconds(1.5));
  EXPECT_EQ(snapshot().failures, 4);
  Acquire();
  clock_.Advance(absl::Seconds(1.5));
  EXPECT_FALSE(Acquire().allowed);
  EXPECT_EQ(transitions_.back().reason, BreakerReason::kFaultLimit);
}

TEST_F(TripsTest, OfSeveralTripsTheFirstThatIsReachedOpensIt) {
  BreakerRules rules =
      On({.fault_limit = true, .consecutive_failures = true, .failure_rate = true});
  rules.fault_limit = 10;
  rules.consecutive_failures = 2;
  rules.minimum_calls = 100;
  Use(rules);
  Succeed();
  Fail(2);
  EXPECT_EQ(transitions_.back().reason, BreakerReason::kConsecutiveFailures);
}

TEST_F(TripsTest, AResultOfBeforeATransitionIsNotInTheNextWindow) {
  for (const bool over_calls : {false, true}) {
    BreakerRules rules = OnFailureRate();
    if (over_calls) rules = OverCalls(rules, 10);
    Use(rules);
    const auto late = Acquire();
    breaker_->Reset(clock_.Now());
    breaker_->OnFailure(late.permit, clock_.Now());
    breaker_->OnSuccess(late.permit, clock_.Now());
    EXPECT_EQ(snapshot().calls, CallCounts());
  }
}

TEST_F(TripsTest, WindowsOutliveManyGenerations) {
  for (const bool over_calls : {false, true}) {
    BreakerRules rules = OnFailureRate();
    if (over_calls) rules = OverCalls(rules, 10);
    Use(rules);
    for (int i = 0; i < 500; ++i) {
      Fail(2);
      ASSERT_EQ(snapshot().calls, (CallCounts{2, 2, 0})) << i;
      breaker_->Reset(clock_.Now());
    }
  }
}

TEST_F(TripsTest, RefusesRulesThatCannotBeNamingTheKey) {
  const auto fault = [](auto change) {
    BreakerRules rules;
    change(rules);
    return std::string(CircuitBreaker::Validate(rules).message());
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(fault([](auto& r) { r.trip_on.fault_limit = false; }), HasSubstr("tripOn"));
  EXPECT_THAT(fault([](auto& r) { r.failure_rate = 0; }), HasSubstr("failureRate"));
  EXPECT_THAT(fault([](auto& r) { r.slow_call_rate = 100.5; }), HasSubstr("slowCallRate"));
  EXPECT_THAT(fault([](auto& r) { r.consecutive_failures = 0; }), HasSubstr("consecutiveFailures"));
  EXPECT_THAT(fault([](auto& r) { r.minimum_calls = 0; }), HasSubstr("minimumCalls"));
  EXPECT_THAT(fault([](auto& r) { r.half_open_delay_factor = 0.5; }), HasSubstr("DelayFactor"));
  EXPECT_THAT(fault([](auto& r) { r.half_open_jitter = 2; }), HasSubstr("halfOpenJitter"));
  EXPECT_THAT(fault([](auto& r) { r.ramp_up_from = -1; }), HasSubstr("rampUpFrom"));
}

}  // namespace
}  // namespace marpc::testing
