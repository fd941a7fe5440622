// Timers on a clock that the test owns.
#ifndef MARPC_TESTS_SUPPORT_SIMULATED_TIMERS_H_
#define MARPC_TESTS_SUPPORT_SIMULATED_TIMERS_H_

#include <map>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"

namespace marpc::testing {

// Not thread-safe.
class SimulatedTimers {
 public:
  explicit SimulatedTimers(SimulatedClock& clock) : clock_(clock) {}

  void At(MonotonicTime when, absl::AnyInvocable<void()> run) {
    timers_.emplace(when, std::move(run));
  }
  // Time passes; what comes due meanwhile runs at its own time, or now where that is past.
  void Pass(absl::Duration time) {
    const MonotonicTime end = clock_.Now() + time;
    while (!timers_.empty() && timers_.begin()->first <= end) {
      auto first = timers_.extract(timers_.begin());
      if (first.key() > clock_.Now()) clock_.Set(first.key());
      first.mapped()();
    }
    clock_.Set(end);
  }
  size_t size() const { return timers_.size(); }

 private:
  SimulatedClock& clock_;
  std::multimap<MonotonicTime, absl::AnyInvocable<void()>> timers_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_SUPPORT_SIMULATED_TIMERS_H_
