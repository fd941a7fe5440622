// A clock that moves only when something sleeps.
#ifndef MARPC_TESTS_RETRY_VIRTUAL_TIME_H_
#define MARPC_TESTS_RETRY_VIRTUAL_TIME_H_

#include <algorithm>
#include <functional>
#include <vector>

#include "marpc/base/random.h"
#include "marpc/retry/sleeper.h"

namespace marpc::testing {

class VirtualTime final : public Sleeper {
 public:
  SimulatedClock clock;
  SeededRandom random{1};
  // Before each sleep, with its end.
  std::function<void(MonotonicTime, CancelSignal*)> on_sleep;

  void SleepUntil(MonotonicTime until, CancelSignal* cancel) override {
    if (on_sleep != nullptr) on_sleep(until, cancel);
    if (cancel != nullptr && cancel->cancelled()) return;
    clock.Set(std::max(clock.Now(), until));
  }
  RetryEnvironment environment() { return {&clock, this, &random}; }
};

inline std::vector<absl::Duration> Milliseconds(std::vector<int> ms) {
  std::vector<absl::Duration> durations;
  for (const int n : ms) durations.push_back(absl::Milliseconds(n));
  return durations;
}

}  // namespace marpc::testing

#endif  // MARPC_TESTS_RETRY_VIRTUAL_TIME_H_
