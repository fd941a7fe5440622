// Bounds retries to a share of the calls, so that a dead backend does not get its load multiplied.
//
// Every call deposits `percent_can_retry` of a retry, which lives for `ttl`; every retry takes one;
// on top of it comes a floor of min_retries_per_sec, so that a client with few calls may retry too.
// With every backend dead, attempts stay within calls * (1 + percent_can_retry) + the floor.
#ifndef MARPC_RETRY_RETRY_BUDGET_H_
#define MARPC_RETRY_RETRY_BUDGET_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/clock.h"
#include "marpc/config/settings.h"

namespace marpc {

// Thread-safe. A deposit takes no lock but once a tenth of the ttl.
class RetryBudget {
 public:
  RetryBudget(const RetryBudgetSettings& settings, MonotonicTime now);

  // A call starts.
  void Deposit(MonotonicTime now);
  // Takes one retry. False, and nothing taken, when the budget is spent.
  bool TryWithdraw(MonotonicTime now);
  // A retry that was taken does not happen after all.
  void GiveBack(MonotonicTime now);
  // Retries that could be taken now.
  double Balance(MonotonicTime now);

 private:
  static constexpr int kSlots = 10;
  struct Slot {
    std::atomic<int64_t> calls{0};
    std::atomic<int64_t> retries{0};
  };

  // Empties the slots that have left the window. Returns the slot of `now`.
  Slot& Advance(MonotonicTime now);
  double BalanceLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RetryBudgetSettings settings_;
  const int64_t slot_nanos_;
  std::atomic<int64_t> epoch_;  // number of the current slot since the clock's start
  absl::Mutex mutex_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_BUDGET_H_
