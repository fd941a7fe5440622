// A breaker under a clock that the test owns.
#ifndef MARPC_TESTS_CIRCUITBREAKER_BREAKER_FIXTURE_H_
#define MARPC_TESTS_CIRCUITBREAKER_BREAKER_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/random.h"
#include "marpc/circuitbreaker/circuit_breaker.h"

namespace marpc::testing {

inline constexpr absl::Duration kMs = absl::Milliseconds(1);

class BreakerFixture : public ::testing::Test {
 protected:
  void Use(const BreakerRules& rules) {
    ASSERT_TRUE(CircuitBreaker::Validate(rules).ok()) << CircuitBreaker::Validate(rules);
    breaker_ = std::make_unique<CircuitBreaker>(
        rules, [this](const BreakerTransition& transition) { transitions_.push_back(transition); },
        &random_);
  }
  CircuitBreaker::Admission Acquire() { return breaker_->TryAcquire(clock_.Now()); }
  // Calls from beginning to end.
  void Fail(int times = 1, absl::Duration takes = absl::ZeroDuration()) {
    for (int i = 0; i < times; ++i) {
      const auto permit = Acquire().permit;
      clock_.Advance(takes);
      breaker_->OnFailure(permit, clock_.Now());
    }
  }
  void Succeed(int times = 1, absl::Duration takes = absl::ZeroDuration()) {
    for (int i = 0; i < times; ++i) {
      const auto permit = Acquire().permit;
      clock_.Advance(takes);
      breaker_->OnSuccess(permit, clock_.Now());
    }
  }
  // OPEN, and its wait is over.
  void OpenAndWait() {
    breaker_->Force(BreakerState::kOpen, clock_.Now());
    clock_.Advance(breaker_->settings().half_open_initial_delay);
  }
  BreakerState state() const { return breaker_->state(); }
  CircuitBreaker::Snapshot snapshot() const { return breaker_->GetSnapshot(clock_.Now()); }

  SimulatedClock clock_;
  SeededRandom random_{7};
  std::vector<BreakerTransition> transitions_;
  std::unique_ptr<CircuitBreaker> breaker_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_CIRCUITBREAKER_BREAKER_FIXTURE_H_
