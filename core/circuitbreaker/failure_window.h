// Failures in a sliding window, exact to the nanosecond.
#ifndef MARPC_CIRCUITBREAKER_FAILURE_WINDOW_H_
#define MARPC_CIRCUITBREAKER_FAILURE_WINDOW_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "marpc/base/clock.h"

namespace marpc {

// The times of the last `limit` failures, a ring. Not thread-safe.
class FailureWindow {
 public:
  explicit FailureWindow(int limit) { times_.reserve(std::min<size_t>(limit, kReserved)); }

  void Add(int limit, MonotonicTime now) {
    if (times_.size() < static_cast<size_t>(limit)) {
      times_.push_back(now);
    } else {
      times_[next_] = now;
      next_ = (next_ + 1) % times_.size();
    }
  }
  // Those younger than `window`.
  int Count(absl::Duration window, MonotonicTime now) const {
    return static_cast<int>(
        std::count_if(times_.begin(), times_.end(), [&](auto t) { return now - t < window; }));
  }
  void Clear() {
    times_.clear();
    next_ = 0;
  }

 private:
  static constexpr size_t kReserved = 16;
  std::vector<MonotonicTime> times_;
  size_t next_ = 0;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_FAILURE_WINDOW_H_
