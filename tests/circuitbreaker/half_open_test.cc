// Waiting, probing and coming back.
#include <set>

#include "tests/circuitbreaker/breaker_fixture.h"

namespace marpc::testing {
namespace {

using ::testing::ElementsAre;

class HalfOpenTest : public BreakerFixture {
 protected:
  static BreakerRules Rules() {
    BreakerRules rules;
    rules.fault_limit = 1;
    return rules;
  }
  // How long it stays open after each of `times` failed probes.
  std::vector<absl::Duration> WaitsOf(int times) {
    std::vector<absl::Duration> waits;
    OpenAndWait();
    for (int i = 0; i < times; ++i) {
      clock_.Set(std::max(clock_.Now(), snapshot().next_probe_at));
      Fail();
      waits.push_back(transitions_.back().wait);
    }
    return waits;
  }
};

TEST_F(HalfOpenTest, TheWaitGrowsByTheFactorUpToTheMaximum) {
  BreakerRules rules = Rules();
  rules.half_open_delay_factor = 2;
  rules.half_open_max_delay = absl::Seconds(30);
  Use(rules);
  EXPECT_THAT(WaitsOf(5), ElementsAre(absl::Seconds(5), absl::Seconds(10), absl::Seconds(20),
                                      absl::Seconds(30), absl::Seconds(30)));
  clock_.Set(snapshot().next_probe_at);
  Succeed();
  ASSERT_EQ(state(), BreakerState::kClosed);
  EXPECT_THAT(WaitsOf(1), ElementsAre(absl::Seconds(5))) << "a recovery starts it over";
}

TEST_F(HalfOpenTest, AMaximumBelowTheFirstDelayDoesNotShortenIt) {
  BreakerRules rules = Rules();
  rules.half_open_delay = absl::Minutes(10);
  Use(rules);
  EXPECT_THAT(WaitsOf(2), ElementsAre(absl::Minutes(10), absl::Minutes(10)));
}

TEST_F(HalfOpenTest, JitterLengthensEachWaitByItsPartAtMost) {
  BreakerRules rules = Rules();
  rules.half_open_jitter = 0.5;
  Use(rules);
  std::set<absl::Duration> waits;
  for (int i = 0; i < 200; ++i) {
    breaker_->Reset(clock_.Now());
    Fail();
    waits.insert(transitions_.back().wait);
  }
  EXPECT_GT(waits.size(), 190u);
  EXPECT_GE(*waits.begin(), absl::Seconds(10));
  EXPECT_LT(*waits.begin(), absl::Seconds(10.5));
  EXPECT_LT(*waits.rbegin(), absl::Seconds(15));
  EXPECT_GT(*waits.rbegin(), absl::Seconds(14.5));
}

TEST_F(HalfOpenTest, ClosesAfterTheSuccessesAskedForThroughOneProbeAtATime) {
  BreakerRules rules = Rules();
  rules.half_open_successes = 3;
  Use(rules);
  OpenAndWait();
  for (int i = 0; i < 3; ++i) {
    const auto probe = Acquire();
    ASSERT_TRUE(probe.allowed);
    EXPECT_FALSE(Acquire().allowed);
    breaker_->OnSuccess(probe.permit, clock_.Now());
  }
  EXPECT_EQ(state(), BreakerState::kClosed);
  EXPECT_EQ(snapshot().probes, 3u);
}

TEST_F(HalfOpenTest, FailuresMayBeToleratedAmongTheProbes) {
  BreakerRules rules = Rules();
  rules.half_open_probes = 3;
  rules.half_open_successes = 2;
  rules.half_open_failures = 2;
  Use(rules);
  OpenAndWait();
  Fail();
  EXPECT_EQ(state(), BreakerState::kHalfOpen);
  Succeed(2);
  EXPECT_EQ(state(), BreakerState::kClosed);
  OpenAndWait();
  Fail(2);
  EXPECT_EQ(state(), BreakerState::kOpen);
}

TEST_F(HalfOpenTest, MayBeJudgedByTheRateOfAllProbes) {
  BreakerRules rules = Rules();
  rules.half_open_probes = 4;
  rules.half_open_judged_by = HalfOpenJudge::kRate;
  Use(rules);
  OpenAndWait();
  Fail();
  Succeed(2);
  EXPECT_EQ(state(), BreakerState::kHalfOpen);
  Succeed();
  EXPECT_EQ(state(), BreakerState::kClosed) << "25 % failed";
  OpenAndWait();
  Fail(2);
  Succeed(2);
  EXPECT_EQ(state(), BreakerState::kOpen) << "50 % failed";
}

TEST_F(HalfOpenTest, ASlowProbeHasFailedWhereSlowCallsOpenIt) {
  BreakerRules rules = Rules();
  rules.trip_on.slow_call_rate = true;
  Use(rules);
  OpenAndWait();
  Succeed(1, absl::Seconds(1.5));
  EXPECT_EQ(state(), BreakerState::kOpen);
}

TEST_F(HalfOpenTest, AProbeThatHangsMakesRoomAfterItsOwnTimeout) {
  BreakerRules rules = Rules();
  rules.half_open_probe_timeout = absl::Seconds(2);
  Use(rules);
  OpenAndWait();
  const auto hangs = Acquire();
  ASSERT_TRUE(hangs.allowed);
  clock_.Advance(absl::Seconds(2) - kMs);
  EXPECT_FALSE(Acquire().allowed);
  clock_.Advance(kMs);
  const auto next = Acquire();
  ASSERT_TRUE(next.allowed);
  breaker_->Release(hangs.permit);
  EXPECT_FALSE(Acquire().allowed) << "a probe that lost its place has none to give back";
}

TEST_F(HalfOpenTest, AnUndecidedHalfOpenOpensAgainWhenItsTimeIsOver) {
  BreakerRules rules = Rules();
  rules.half_open_probe_timeout = absl::Hours(1);
  rules.half_open_time_limit = absl::Seconds(3);
  Use(rules);
  OpenAndWait();
  const auto hangs = Acquire();
  clock_.Advance(absl::Seconds(3));
  EXPECT_EQ(Acquire().retry_after, absl::Seconds(5));
  EXPECT_EQ(transitions_.back().reason, BreakerReason::kUndecided);
  breaker_->OnSuccess(hangs.permit, clock_.Now());
  EXPECT_EQ(state(), BreakerState::kOpen) << "a result of before";
}

TEST_F(HalfOpenTest, WhoComesLateToAnUndecidedHalfOpenDoesNotWaitLonger) {
  BreakerRules rules = Rules();
  rules.half_open_time_limit = absl::Seconds(3);
  Use(rules);
  OpenAndWait();
  Acquire();
  clock_.Advance(absl::Hours(1));
  EXPECT_TRUE(Acquire().allowed);
}

TEST_F(HalfOpenTest, AnUndecidedHalfOpenMayClose) {
  BreakerRules rules = Rules();
  rules.half_open_time_limit = absl::Seconds(3);
  rules.half_open_undecided = HalfOpenUndecided::kClosed;
  Use(rules);
  OpenAndWait();
  Acquire();
  clock_.Advance(absl::Seconds(3));
  breaker_->CatchUp(clock_.Now());
  EXPECT_EQ(state(), BreakerState::kClosed);
}

TEST_F(HalfOpenTest, WithoutProbesItClosesWhenTheWaitIsOver) {
  BreakerRules rules = Rules();
  rules.half_open = false;
  Use(rules);
  Fail();
  clock_.Advance(absl::Seconds(10) - kMs);
  EXPECT_FALSE(Acquire().allowed);
  clock_.Advance(kMs);
  EXPECT_TRUE(Acquire().allowed);
  EXPECT_EQ(state(), BreakerState::kClosed);
}

TEST_F(HalfOpenTest, AfterClosingTheShareOfCallsGrowsToAll) {
  BreakerRules rules = Rules();
  rules.ramp_up = absl::Seconds(10);
  rules.ramp_up_from = 10;
  Use(rules);
  OpenAndWait();
  Succeed();
  ASSERT_EQ(state(), BreakerState::kClosed);
  std::vector<int> admitted;
  for (int second = 0; second < 12; ++second) {
    admitted.push_back(0);
    for (int call = 0; call < 100; ++call) {
      const auto admission = Acquire();
      admitted.back() += admission.allowed;
      if (!admission.allowed) {
        EXPECT_EQ(admission.refusal, BreakerRefusal::kRampUp);
      }
      clock_.Advance(absl::Milliseconds(10));
    }
  }
  // The mean share of the second n is 0.1 + 0.9 * (n + 0.5) / 10.
  for (int second = 0; second < 10; ++second) {
    EXPECT_NEAR(admitted[second], 10 + 9 * (second + 0.5), 1.5) << second;
  }
  EXPECT_EQ(admitted[10], 100);
  EXPECT_EQ(admitted[11], 100);
  EXPECT_EQ(snapshot().refused, 0u);
  EXPECT_GT(snapshot().refused_by_ramp, 400u);
}

TEST_F(HalfOpenTest, AFailureInTheRampCountsAndOpensItAgain) {
  BreakerRules rules = Rules();
  rules.ramp_up = absl::Seconds(10);
  Use(rules);
  OpenAndWait();
  Succeed();
  Fail();
  EXPECT_EQ(state(), BreakerState::kOpen);
  EXPECT_EQ(snapshot().share, 1);
}

TEST_F(HalfOpenTest, WhoResetsItWantsAllCallsAtOnce) {
  BreakerRules rules = Rules();
  rules.ramp_up = absl::Seconds(10);
  Use(rules);
  OpenAndWait();
  breaker_->Reset(clock_.Now());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Acquire().allowed);
}

}  // namespace
}  // namespace marpc::testing
