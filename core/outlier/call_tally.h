// Counts an instance's calls, whichever threads make them, until somebody takes the count.
#ifndef MARPC_OUTLIER_CALL_TALLY_H_
#define MARPC_OUTLIER_CALL_TALLY_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "marpc/base/stripe.h"
#include "marpc/outlier/ejection.h"

namespace marpc {

// Thread-safe, without a lock. What is counted while somebody takes the count is in it or in the
// next one; a call's time may be in another one than the call.
class CallTally {
 public:
  void Count(bool failed) {
    stripe().calls.fetch_add(failed ? kCall | kFailure : kCall, std::memory_order_relaxed);
  }
  void Time(absl::Duration latency) {
    Stripe& mine = stripe();
    mine.timed.fetch_add(1, std::memory_order_relaxed);
    mine.latency_nanos.fetch_add(absl::ToInt64Nanoseconds(latency), std::memory_order_relaxed);
  }
  IntervalCalls Look() const {
    IntervalCalls sum;
    for (const Stripe& one : stripes_) {
      Add(one.calls.load(std::memory_order_relaxed), one.timed.load(std::memory_order_relaxed),
          one.latency_nanos.load(std::memory_order_relaxed), sum);
    }
    return sum;
  }
  // What was counted since the last time.
  IntervalCalls Take() {
    IntervalCalls sum;
    for (Stripe& one : stripes_) {
      Add(one.calls.exchange(0, std::memory_order_relaxed),
          one.timed.exchange(0, std::memory_order_relaxed),
          one.latency_nanos.exchange(0, std::memory_order_relaxed), sum);
    }
    return sum;
  }

 private:
  // Both in one word, so that there is never a failure without its call.
  static constexpr uint64_t kCall = 1;
  static constexpr uint64_t kFailure = uint64_t{1} << 32;
  struct alignas(64) Stripe {
    std::atomic<uint64_t> calls{0};
    std::atomic<int64_t> timed{0};
    std::atomic<int64_t> latency_nanos{0};
  };
  Stripe& stripe() { return stripes_[CurrentStripe()]; }
  static void Add(uint64_t calls, int64_t timed, int64_t latency_nanos, IntervalCalls& sum) {
    sum.calls += static_cast<int64_t>(calls & (kFailure - 1));
    sum.failures += static_cast<int64_t>(calls >> 32);
    sum.timed += timed;
    sum.latency += absl::Nanoseconds(latency_nanos);
  }

  std::array<Stripe, kStripes> stripes_;
};

}  // namespace marpc

#endif  // MARPC_OUTLIER_CALL_TALLY_H_
