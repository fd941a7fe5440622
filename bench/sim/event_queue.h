// Virtual time for studies: what is due next happens next, and nothing waits.
#ifndef MARPC_BENCH_SIM_EVENT_QUEUE_H_
#define MARPC_BENCH_SIM_EVENT_QUEUE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"

namespace marpc::sim {

// Not thread-safe.
class EventQueue {
 public:
  MonotonicTime now() const { return clock_->Now(); }
  const std::shared_ptr<SimulatedClock>& clock() const { return clock_; }

  // Events of the same time happen in the order they were added in. A time that has passed is now.
  void At(MonotonicTime when, absl::AnyInvocable<void()> event);
  void After(absl::Duration delay, absl::AnyInvocable<void()> event) {
    At(now() + delay, std::move(event));
  }
  // All that is due before `end`; the clock then shows `end`.
  void RunUntil(MonotonicTime end);

 private:
  struct Entry {
    MonotonicTime when;
    uint64_t number;
    absl::AnyInvocable<void()> event;
  };
  static bool Later(const Entry& a, const Entry& b);

  const std::shared_ptr<SimulatedClock> clock_ = std::make_shared<SimulatedClock>();
  std::vector<Entry> heap_;
  uint64_t added_ = 0;
};

}  // namespace marpc::sim

#endif  // MARPC_BENCH_SIM_EVENT_QUEUE_H_
