// When a call that has not been answered yet is sent to another instance as well (gRFC A6 calls it
// hedging, brpc a backup request).
#ifndef MARPC_RETRY_HEDGING_H_
#define MARPC_RETRY_HEDGING_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/latency_digest.h"
#include "marpc/config/settings.h"
#include "marpc/retry/retry_budget.h"

namespace marpc {

// The hedging of one method. Thread-safe.
//
// The delay is fixed, or a percentile of the method's own latencies, learned from the answers of
// the last 10 to 20 s; while fewer than 100 of them are known there is no hedge. Hedges are bounded
// by a share of the calls, so that a service that slows down as a whole does not get twice the
// load.
class Hedging {
 public:
  // InvalidArgument, naming the key, for settings that a file could not hold.
  static absl::Status Validate(const HedgingSettings& settings);

  // `settings` are valid.
  Hedging(const HedgingSettings& settings, MonotonicTime now);

  int max_hedges() const { return settings_.max_hedges; }
  // A call starts.
  void OnCall(MonotonicTime now) { share_.Deposit(now); }
  // An attempt was answered.
  void OnAnswer(absl::Duration latency, MonotonicTime now) {
    if (settings_.percentile > 0) latencies_.Record(latency, now);
  }
  // How long the latest attempt may stay unanswered. Infinite: no hedge.
  absl::Duration Delay(MonotonicTime now);

  // Takes one hedge from the share; false when it is used up.
  std::optional<RetryBudget::Withdrawal> TryTake(MonotonicTime now) {
    return share_.TryWithdraw(now);
  }
  void GiveBack(const RetryBudget::Withdrawal& taken, MonotonicTime now) {
    share_.GiveBack(taken, now);
  }

 private:
  const HedgingSettings settings_;
  RetryBudget share_;
  LatencyDigest latencies_;
  // The percentile as it was found last, and when to look again: a look goes over all buckets.
  std::atomic<int64_t> delay_nanos_;
  std::atomic<int64_t> renew_at_nanos_{0};
};

}  // namespace marpc

#endif  // MARPC_RETRY_HEDGING_H_
