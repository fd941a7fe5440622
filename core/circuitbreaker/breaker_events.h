// What a circuit breaker tells of itself: its transitions, the last hundred of which it keeps.
#ifndef MARPC_CIRCUITBREAKER_BREAKER_EVENTS_H_
#define MARPC_CIRCUITBREAKER_BREAKER_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/circuitbreaker/breaker_state.h"
#include "marpc/circuitbreaker/call_counts.h"

namespace marpc {

struct BreakerTransition {
  BreakerState from;
  BreakerState to;
  MonotonicTime at;
  int failures = 0;  // inside the window when it happened
  BreakerReason reason = BreakerReason::kNone;
  // In the rate window; of HALF_OPEN, of its probes. Zeros where there is neither.
  CallCounts calls;
  // To OPEN: how long it stays so.
  absl::Duration wait;
};

// A ring that takes no memory before its first event. Not thread-safe.
class BreakerEvents {
 public:
  static constexpr size_t kKept = 100;

  void Add(const BreakerTransition& transition) {
    if (ring_.size() < kKept) {
      ring_.push_back(transition);
      return;
    }
    ring_[oldest_] = transition;
    oldest_ = (oldest_ + 1) % kKept;
  }
  // The oldest first.
  std::vector<BreakerTransition> List() const {
    std::vector<BreakerTransition> list(ring_.begin() + oldest_, ring_.end());
    list.insert(list.end(), ring_.begin(), ring_.begin() + oldest_);
    return list;
  }

 private:
  std::vector<BreakerTransition> ring_;
  ptrdiff_t oldest_ = 0;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_BREAKER_EVENTS_H_
