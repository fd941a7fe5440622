// Counts what every call does, by time: one atomic addition a call, without a lock and without an
// allocation, spread over several cache lines so that many threads do not wait for each other.
#ifndef MARPC_RETRY_DEPOSIT_RING_H_
#define MARPC_RETRY_DEPOSIT_RING_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"

namespace marpc {

// Times are nanoseconds from a start of the owner's. A deposit is stamped with the time of the
// first one of its slot, so never with a later time than its own; a slot is 1/250 to 1/125 of
// what is kept.
class DepositRing {
 public:
  // Deposits are kept for at least `keep_nanos`.
  explicit DepositRing(int64_t keep_nanos);

  // Thread-safe.
  void Add(int64_t at);

  // Takes out what was deposited up to `until`, in the order of the stamps. Thread-safe against
  // Add(), not against itself. A deposit that comes later than a Drain() beyond it may be lost.
  void Drain(int64_t until, absl::FunctionRef<void(int64_t stamp, int64_t deposits)> sink);

 private:
  static constexpr int kSlots = 256;
  static constexpr int kStripes = 4;
  // A slot is one word: which epoch it counts for, where in it the first deposit was, how many.
  using Slot = std::atomic<uint64_t>;
  struct alignas(64) Stripe {
    std::array<Slot, kSlots> slots;
  };

  int64_t StampOf(int64_t epoch, uint64_t word) const;

  const int shift_;  // a slot is 2^shift_ ns wide
  std::array<Stripe, kStripes> stripes_;
  int64_t drained_to_ = 0;  // epoch
};

}  // namespace marpc

#endif  // MARPC_RETRY_DEPOSIT_RING_H_
