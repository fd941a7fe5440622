#include "marpc/circuitbreaker/circuit_breaker.h"

#include <atomic>
#include <barrier>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kMs = absl::Milliseconds(1);

CircuitBreakerSettings Settings(int fault_limit = 5) {
  CircuitBreakerSettings settings;
  settings.enabled = true;
  settings.fault_limit = fault_limit;
  settings.window_size = absl::Seconds(10);
  settings.half_open_initial_delay = absl::Seconds(10);
  settings.half_open_delay = absl::Seconds(5);
  return settings;
}

class CircuitBreakerTest : public ::testing::Test {
 protected:
  void Use(const CircuitBreakerSettings& settings) {
    breaker_ = std::make_unique<CircuitBreaker>(settings, [this](const auto& transition) {
      absl::MutexLock lock(&mutex_);
      transitions_.push_back(absl::StrCat(BreakerStateName(transition.from), ">",
                                          BreakerStateName(transition.to), " ",
                                          transition.failures));
    });
  }
  void SetUp() override { Use(Settings()); }

  CircuitBreaker::Admission Acquire() { return breaker_->TryAcquire(clock_.Now()); }
  void Fail() { breaker_->OnFailure(Acquire().permit, clock_.Now()); }
  void Fail(int times) {
    for (int i = 0; i < times; ++i) Fail();
  }
  void Succeed() { breaker_->OnSuccess(Acquire().permit, clock_.Now()); }
  void OpenAndWait() {
    Fail(breaker_->settings().fault_limit);
    clock_.Advance(breaker_->settings().half_open_initial_delay);
  }
  BreakerState state() const { return breaker_->state(); }
  CircuitBreaker::Snapshot snapshot() const { return breaker_->GetSnapshot(clock_.Now()); }

  SimulatedClock clock_;
  absl::Mutex mutex_;
  std::vector<std::string> transitions_;
  std::unique_ptr<CircuitBreaker> breaker_;
};

TEST_F(CircuitBreakerTest, OpensAtTheFaultLimitAndFailsFastWithTheTimeLeft) {
  Fail(4);
  EXPECT_EQ(state(), BreakerState::kClosed);
  Fail();
  EXPECT_EQ(state(), BreakerState::kOpen);
  clock_.Advance(absl::Seconds(4));
  const CircuitBreaker::Admission refused = Acquire();
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.retry_after, absl::Seconds(6));
}

TEST_F(CircuitBreakerTest, AFailureLeavesTheWindowExactlyAtItsSize) {
  Fail();
  clock_.Advance(absl::Seconds(10) - kMs);
  Fail(3);
  EXPECT_EQ(snapshot().failures, 4);
  clock_.Advance(kMs);
  EXPECT_EQ(snapshot().failures, 3);
  Fail();
  EXPECT_EQ(state(), BreakerState::kClosed);
  Fail();
  EXPECT_EQ(state(), BreakerState::kOpen);
}

TEST_F(CircuitBreakerTest, AFailureInsideTheWindowByANanosecondStillCounts) {
  Fail();
  clock_.Advance(absl::Seconds(10) - absl::Nanoseconds(1));
  Fail(4);
  EXPECT_EQ(state(), BreakerState::kOpen);
}

TEST_F(CircuitBreakerTest, FailuresSpreadWiderThanTheWindowNeverOpenIt) {
  for (int i = 0; i < 100; ++i) {
    Fail();
    clock_.Advance(absl::Seconds(2.5));
  }
  EXPECT_EQ(state(), BreakerState::kClosed);
}

TEST_F(CircuitBreakerTest, ASuccessDoesNotForgetFailuresUnlessToldTo) {
  Fail(4);
  Succeed();
  Fail();
  EXPECT_EQ(state(), BreakerState::kOpen);

  CircuitBreakerSettings settings = Settings();
  settings.success_resets = true;
  Use(settings);
  Fail(4);
  Succeed();
  Fail(4);
  EXPECT_EQ(state(), BreakerState::kClosed);
}

TEST_F(CircuitBreakerTest, WaitsTheInitialDelayAtFirstAndTheOtherAfterAFailedProbe) {
  OpenAndWait();
  Fail();  // the probe
  EXPECT_EQ(state(), BreakerState::kOpen);
  clock_.Advance(absl::Seconds(5) - kMs);
  EXPECT_EQ(Acquire().retry_after, kMs);
  clock_.Advance(kMs);
  Succeed();
  EXPECT_EQ(state(), BreakerState::kClosed);
  Fail(5);
  clock_.Advance(absl::Seconds(10) - kMs);
  EXPECT_FALSE(Acquire().allowed);
}

TEST_F(CircuitBreakerTest, HalfOpenClosesAfterAsManySuccessesAsProbes) {
  CircuitBreakerSettings settings = Settings();
  settings.half_open_probes = 2;
  Use(settings);
  OpenAndWait();
  const auto first = Acquire();
  const auto second = Acquire();
  EXPECT_TRUE(first.allowed && second.allowed);
  EXPECT_FALSE(Acquire().allowed);
  breaker_->OnSuccess(first.permit, clock_.Now());
  EXPECT_EQ(state(), BreakerState::kHalfOpen);
  EXPECT_FALSE(Acquire().allowed) << "a success does not make room for a third probe";
  breaker_->OnSuccess(second.permit, clock_.Now());
  EXPECT_EQ(state(), BreakerState::kClosed);
  EXPECT_EQ(snapshot().failures, 0);
}

TEST_F(CircuitBreakerTest, OneFailedProbeOfSeveralOpensItAgain) {
  CircuitBreakerSettings settings = Settings();
  settings.half_open_probes = 3;
  Use(settings);
  OpenAndWait();
  const auto first = Acquire();
  const auto second = Acquire();
  breaker_->OnSuccess(first.permit, clock_.Now());
  breaker_->OnFailure(second.permit, clock_.Now());
  EXPECT_EQ(state(), BreakerState::kOpen);
}

TEST_F(CircuitBreakerTest, HalfOpenAdmitsExactlyTheConfiguredProbesWhateverTheConcurrency) {
  constexpr int kThreads = 64;
  constexpr int kRounds = 300;
  CircuitBreakerSettings settings = Settings(1);
  settings.half_open_probes = 3;
  Use(settings);
  std::atomic<int> admitted{0};
  std::vector<int> wrong;
  std::barrier all(kThreads, [&]() noexcept {
    // Between the rounds: all threads have asked, or none has.
    if (const int count = admitted.exchange(0); count != 0 && count != 3) wrong.push_back(count);
    breaker_->Reset(clock_.Now());
    OpenAndWait();
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        all.arrive_and_wait();
        if (Acquire().allowed) admitted.fetch_add(1);
      }
      all.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ::testing::IsEmpty());
}

TEST_F(CircuitBreakerTest, LateResultsOfCallsFromBeforeATransitionChangeNothing) {
  const auto late_success = Acquire();
  const auto late_failure = Acquire();
  OpenAndWait();
  breaker_->OnFailure(late_failure.permit, clock_.Now());
  const auto probe = Acquire();
  ASSERT_TRUE(probe.allowed);
  breaker_->OnFailure(late_failure.permit, clock_.Now());
  EXPECT_EQ(state(), BreakerState::kHalfOpen);
  breaker_->OnSuccess(late_success.permit, clock_.Now());
  EXPECT_EQ(state(), BreakerState::kHalfOpen);
  breaker_->OnSuccess(probe.permit, clock_.Now());
  EXPECT_EQ(state(), BreakerState::kClosed);
  for (int i = 0; i < 10; ++i) breaker_->OnFailure(late_failure.permit, clock_.Now());
  EXPECT_EQ(state(), BreakerState::kClosed);
}

TEST_F(CircuitBreakerTest, AReleasedProbeMakesRoomForAnother) {
  OpenAndWait();
  const auto probe = Acquire();
  EXPECT_FALSE(Acquire().allowed);
  breaker_->Release(probe.permit);
  EXPECT_EQ(state(), BreakerState::kHalfOpen);
  EXPECT_TRUE(Acquire().allowed);
  EXPECT_FALSE(Acquire().allowed);
}

TEST_F(CircuitBreakerTest, AProbeThatNeverEndsLosesItsPlaceAfterTheHalfOpenDelay) {
  OpenAndWait();
  const auto lost = Acquire();
  clock_.Advance(absl::Seconds(5) - kMs);
  EXPECT_FALSE(Acquire().allowed);
  clock_.Advance(kMs);
  const auto next = Acquire();
  EXPECT_TRUE(next.allowed);
  EXPECT_FALSE(Acquire().allowed);
  // Its result, should it come after all, is as good as another's.
  breaker_->OnSuccess(lost.permit, clock_.Now());
  EXPECT_EQ(state(), BreakerState::kClosed);
}

TEST_F(CircuitBreakerTest, ResetClosesItWithNothingCounted) {
  Fail(5);
  breaker_->Reset(clock_.Now());
  EXPECT_EQ(state(), BreakerState::kClosed);
  Fail(4);
  EXPECT_EQ(state(), BreakerState::kClosed);
  breaker_->Reset(clock_.Now());
  EXPECT_EQ(snapshot().failures, 0);
  Fail(4);
  EXPECT_EQ(state(), BreakerState::kClosed);
}

TEST_F(CircuitBreakerTest, TheListenerHearsEveryTransitionInOrder) {
  OpenAndWait();
  Fail();
  clock_.Advance(absl::Seconds(5));
  Succeed();
  EXPECT_THAT(transitions_, ElementsAre("CLOSED>OPEN 5", "OPEN>HALF_OPEN 0", "HALF_OPEN>OPEN 0",
                                        "OPEN>HALF_OPEN 0", "HALF_OPEN>CLOSED 0"));
}

TEST_F(CircuitBreakerTest, TheListenerHearsAChainOfTransitionsWhicheverThreadsMakeThem) {
  CircuitBreakerSettings settings = Settings(1);
  settings.half_open_initial_delay = settings.half_open_delay = absl::ZeroDuration();
  BreakerState last = BreakerState::kClosed;
  std::atomic<int> inside{0};
  std::atomic<int> broken{0};
  CircuitBreaker breaker(settings, [&](const CircuitBreaker::Transition& transition) {
    if (inside.fetch_add(1) != 0 || transition.from != last) broken.fetch_add(1);
    last = transition.to;
    inside.fetch_sub(1);
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const auto admission = breaker.TryAcquire(clock_.Now());
        if (!admission.allowed) continue;
        (i + t) % 2 == 0 ? breaker.OnFailure(admission.permit, clock_.Now())
                         : breaker.OnSuccess(admission.permit, clock_.Now());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken.load(), 0);
}

TEST_F(CircuitBreakerTest, TheListenerMayCallTheBreaker) {
  CircuitBreaker* self = nullptr;
  std::vector<BreakerState> heard;
  CircuitBreaker breaker(Settings(1), [&](const CircuitBreaker::Transition& transition) {
    heard.push_back(transition.to);
    if (transition.to == BreakerState::kOpen) self->Reset(clock_.Now());
  });
  self = &breaker;
  breaker.OnFailure(breaker.TryAcquire(clock_.Now()).permit, clock_.Now());
  EXPECT_THAT(heard, ElementsAre(BreakerState::kOpen, BreakerState::kClosed));
}

TEST_F(CircuitBreakerTest, TheSnapshotSaysWhatAnOperatorAsks) {
  OpenAndWait();
  Acquire();  // the probe
  Acquire();  // refused
  const CircuitBreaker::Snapshot now = snapshot();
  EXPECT_EQ(now.state, BreakerState::kHalfOpen);
  EXPECT_EQ(now.failures, 5) << "those that opened it";
  EXPECT_EQ(now.probes_out, 1);
  EXPECT_EQ(now.times_opened, 1u);
  EXPECT_EQ(now.refused, 1u);
  EXPECT_EQ(clock_.Now() - now.opened_at, absl::Seconds(10));
  breaker_->Reset(clock_.Now());
  Fail(5);
  EXPECT_EQ(snapshot().next_probe_at - clock_.Now(), absl::Seconds(10));
}

TEST_F(CircuitBreakerTest, AListenerThatThrowsHarmsNeitherTheBreakerNorTheNextAnnouncement) {
  int announced = 0;
  breaker_ = std::make_unique<CircuitBreaker>(Settings(1), [&](const auto&) {
    ++announced;
    throw std::runtime_error("of the user's");
  });
  EXPECT_NO_THROW(Fail());
  EXPECT_EQ(state(), BreakerState::kOpen);
  EXPECT_NO_THROW(breaker_->Reset(clock_.Now()));
  EXPECT_EQ(state(), BreakerState::kClosed);
  EXPECT_EQ(announced, 2);
}

TEST_F(CircuitBreakerTest, RefusesSettingsThatCannotBeNamingKeyAndValue) {
  EXPECT_TRUE(CircuitBreaker::Validate(Settings()).ok());
  EXPECT_THAT(CircuitBreaker::Validate(Settings(0)).message(),
              AllOf(HasSubstr("faultLimit"), HasSubstr("0")));
  CircuitBreakerSettings settings = Settings();
  settings.window_size = absl::ZeroDuration();
  EXPECT_THAT(CircuitBreaker::Validate(settings).message(), HasSubstr("windowSize"));
  settings = Settings();
  settings.half_open_probes = 0;
  EXPECT_THAT(CircuitBreaker::Validate(settings).message(), HasSubstr("halfOpenProbes"));
  settings = Settings();
  settings.half_open_delay = -kMs;
  EXPECT_THAT(CircuitBreaker::Validate(settings).message(), HasSubstr("halfOpenDelay"));
}

}  // namespace
}  // namespace marpc
