// A CircuitBreaker under a simulated clock, driven by the events that the kinds of breakers share.
#ifndef MARPC_TESTS_VECTORS_BREAKER_RIG_H_
#define MARPC_TESTS_VECTORS_BREAKER_RIG_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "marpc/base/clock.h"
#include "marpc/circuitbreaker/breaker_call.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "tests/vectors/vector_case.h"

namespace marpc::vectors {

struct BreakerHabits {
  // A result that belongs to no call is that of a probe, where the breaker is HALF_OPEN.
  bool results_come_alone = false;
  // Time alone ends HALF_OPEN; and OPEN, too.
  bool half_open_has_timer = false;
  bool open_has_timer = false;
  // durMs says how long the call took, and does not move the clock.
  bool durations_are_told = false;
  // What an error's name means. Null: a failure.
  std::function<BreakerVerdict(const std::string& error)> judge = nullptr;
};

// The calls of one case. A report belongs to the call whose tag it has; without a tag, to the probe
// that is out, else to the oldest call without one, else to a call that nobody mentioned: one
// admitted just now where that is possible, or one of before the last transition.
class BreakerRig {
 public:
  // Null rules: off.
  BreakerRig(SimulatedClock& clock, const BreakerRules* rules, BreakerHabits habits = {});

  // What the event did, {state, allowed, ran, retryAfterMs, failures, ...}.
  Json Apply(const Json& event);

  CircuitBreaker& breaker() { return *breaker_; }

 private:
  struct AdmittedCall {
    std::string tag;
    CircuitBreaker::Permit permit;
  };
  Json Acquire(const std::string& tag);
  Json Call(const Json& event);
  void Report(const std::string& what, const Json& event);
  CircuitBreaker::Permit TakePermit(const std::string& tag);
  void Force(const std::string& to);
  void Advance(absl::Duration by);
  Json State() const;

  SimulatedClock& clock_;
  const BreakerHabits habits_;
  std::unique_ptr<CircuitBreaker> breaker_;  // null: off
  std::vector<AdmittedCall> calls_;
};

// Rules that a case asks for must be valid.
void CheckRules(const BreakerRules& rules);

}  // namespace marpc::vectors

#endif  // MARPC_TESTS_VECTORS_BREAKER_RIG_H_
