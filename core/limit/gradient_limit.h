// A limit of calls under way that finds out by itself what a provider can do: latency rises when
// calls begin to wait for each other.
//
// At the end of each window, with `idle` the latency of an idle provider and `now` the average one:
//
//   gradient = tolerance * idle / now, between 1/2 and 1
//   limit    = limit * gradient + sqrt(limit), smoothed, between min and max
//
// so that a provider which does `n` calls at a time without waiting settles somewhat above
// tolerance * n, and the root keeps a small queue before it. The limit does not rise while fewer
// than half of it are under way. `idle` is the lowest average seen; so that it can rise, too, it is
// measured anew from time to time, by half the limit where the provider is busy.
//
// The idea is that of Netflix's concurrency-limits (Gradient2) and of brpc's `auto` limiter.
#ifndef MARPC_LIMIT_GRADIENT_LIMIT_H_
#define MARPC_LIMIT_GRADIENT_LIMIT_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/config/limit_settings.h"

namespace marpc {

// Thread-safe; takes no lock and allocates nothing.
class GradientLimit {
 public:
  explicit GradientLimit(const GradientSettings& settings);

  int limit() const { return limit_.load(std::memory_order_relaxed); }
  // A call took so long from its admission to its end, when so many were under way, itself
  // included.
  void OnCall(absl::Duration latency, int under_way, MonotonicTime now);
  // Of an idle provider, as far as is known; 0 before the first window's end.
  absl::Duration idle_latency() const {
    return absl::Nanoseconds(idle_nanos_.load(std::memory_order_relaxed));
  }

 private:
  enum class Phase {
    kFollow,   // the limit follows the latency
    kDrain,    // halved; calls from before still count
    kMeasure,  // halved; what is measured is an idle provider
  };
  // Of the thread that holds moving_.
  void EndWindow(MonotonicTime now);
  void Follow(int64_t latency_nanos, int most_under_way, MonotonicTime now);
  void Set(double limit);

  const GradientSettings settings_;
  std::atomic<int> limit_;
  std::atomic<int64_t> idle_nanos_{0};

  // Of the current window.
  std::atomic<int64_t> sum_nanos_{0};
  std::atomic<int64_t> calls_{0};
  std::atomic<int> most_under_way_{0};
  std::atomic<int64_t> window_ends_{0};  // nanoseconds; 0: none has begun

  std::atomic<bool> moving_{false};
  // Guarded by moving_.
  double exact_limit_;
  double limit_before_ = 0;  // of kDrain and kMeasure
  Phase phase_ = Phase::kFollow;
  MonotonicTime remeasure_at_;
};

}  // namespace marpc

#endif  // MARPC_LIMIT_GRADIENT_LIMIT_H_
