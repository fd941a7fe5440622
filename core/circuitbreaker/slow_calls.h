// The calls that are under way, by when they began: finds out that some hang while they do, not
// when they end.
//
//   SlowCalls calls(absl::Seconds(1));
//   SlowCalls::Ticket ticket = calls.Begin(period, now);
//   if (now >= calls.due()) count += calls.TakeOverdue(period, now);   // at any time
//   bool counted = calls.End(ticket);   // TakeOverdue() had it
//
// Begin() and End() cost an atomic operation on a line of the processor's own stripe each, however
// many calls there are. Calls are kept in buckets by their beginning, a fifth of the threshold
// wide; a bucket is overdue when the latest call in it is.
#ifndef MARPC_CIRCUITBREAKER_SLOW_CALLS_H_
#define MARPC_CIRCUITBREAKER_SLOW_CALLS_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/stripe.h"
#include "marpc/circuitbreaker/stamp.h"

namespace marpc {

// Thread-safe, without a lock. `period` as in RateWindow.
class SlowCalls {
 public:
  struct Ticket {
    uint32_t stamp = 0;
    uint8_t stripe = 0;
    uint8_t bucket = 0;
    bool valid = false;
  };

  explicit SlowCalls(absl::Duration threshold);

  // By one thread at a time, before anything begins in that period.
  void StartPeriod(uint32_t period, MonotonicTime now);
  Ticket Begin(uint32_t period, MonotonicTime now);
  // True when TakeOverdue() has counted the call, or it was of an earlier period.
  bool End(const Ticket& ticket);
  // Before that there is nothing to take.
  MonotonicTime due() const {
    return MonotonicTime::FromNanos(due_.load(std::memory_order_relaxed));
  }
  // How many calls have passed the threshold since the last time. By one thread at a time.
  int TakeOverdue(uint32_t period, MonotonicTime now);

 private:
  static constexpr int kBuckets = 6;
  using Word = std::atomic<uint64_t>;
  struct alignas(64) Row {
    Word words[kBuckets];
    // Calls whose bucket was taken by later ones before TakeOverdue() came.
    std::atomic<uint32_t> left_over{0};
  };

  int64_t BucketAt(MonotonicTime now) const { return now.nanos() / bucket_nanos_; }
  // When the latest call of this word passes the threshold.
  int64_t OverdueAt(uint64_t word, MonotonicTime now) const;

  const int64_t threshold_nanos_;
  const int64_t bucket_nanos_;
  std::atomic<int64_t> due_{0};
  Row rows_[kStripes];
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_SLOW_CALLS_H_
