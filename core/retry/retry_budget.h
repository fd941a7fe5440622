// Bounds retries to a share of the calls, so that a dead backend does not get its load multiplied.
//
// A bucket of tokens: every call puts one in, which lives for `ttl`; a retry takes
// 1 / percent_can_retry of them, rounded up. On top of it comes a floor, so that a client with few
// calls may retry too: tokens for min_retries_per_sec retries come every second, and tokens for
// `initial` ones are there at the start. What is not used is saved up until it expires, so that the
// calls which one instance takes with it when it dies can all be made again; a `burst` bounds it,
// and then more makes the oldest go.
//
// With every backend dead, attempts stay within calls * (1 + percent_can_retry) + the floor.
#ifndef MARPC_RETRY_RETRY_BUDGET_H_
#define MARPC_RETRY_RETRY_BUDGET_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "marpc/base/clock.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/config/settings.h"
#include "marpc/retry/deposit_ring.h"

namespace marpc {

// Thread-safe.
class RetryBudget {
 public:
  // What is wrong with `settings`, if anything.
  static absl::Status Validate(const RetryBudgetSettings& settings);

  // `settings` must be valid. Its seconds are counted from `now`. Of tokens older than `kept_for`
  // no more are kept than ten retries take, so that a calm does not save up for a storm.
  RetryBudget(const RetryBudgetSettings& settings, MonotonicTime now,
              absl::Duration kept_for = absl::InfiniteDuration());

  // A call starts. Takes no lock and allocates nothing.
  void Deposit(MonotonicTime now) { deposits_.Add(now.nanos() - born_); }

  // What one retry has taken, to be given back.
  class Withdrawal {
   public:
    Withdrawal() = default;

   private:
    friend class RetryBudget;
    explicit Withdrawal(int64_t expires) : expires_(expires) {}
    int64_t expires_ = 0;  // the oldest token
  };

  // Takes the tokens of one retry, the oldest first. None, and nothing taken, when there are too
  // few.
  std::optional<Withdrawal> TryWithdraw(MonotonicTime now);
  // Would TryWithdraw() succeed?
  bool CanWithdraw(MonotonicTime now);
  // A retry that was taken for does not happen after all: its tokens come back, as old as the
  // oldest of them was.
  void GiveBack(const Withdrawal& withdrawal, MonotonicTime now);

  // The tokens there are, and what a retry takes of them.
  int64_t Balance(MonotonicTime now);
  int64_t tokens_per_retry() const { return per_retry_; }

 private:
  // Times are nanoseconds since birth.
  struct Batch {
    int64_t expires;
    int64_t tokens;
  };

  // Brings the bucket up to date: what was deposited, the floor's seconds, what has expired, what
  // is too much.
  void Advance(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddSeconds(int64_t until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Add(int64_t at, int64_t tokens) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeOldest(int64_t tokens) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t born_;      // the clock's nanoseconds
  const int64_t ttl_;       // nanoseconds
  const int64_t kept_for_;  // likewise, at most ttl_
  const int64_t per_retry_;
  const int64_t per_second_;
  const int64_t capacity_;
  DepositRing deposits_;

  PlainMutex mutex_;
  std::deque<Batch> bucket_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  int64_t tokens_ ABSL_GUARDED_BY(mutex_) = 0;        // in the bucket
  int64_t seconds_ ABSL_GUARDED_BY(mutex_) = 0;       // of the floor, added so far
};

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_BUDGET_H_
