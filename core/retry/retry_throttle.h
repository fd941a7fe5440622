// Stops retries while too many calls fail (gRFC A6, "Throttling Retry Attempts and Hedged RPCs").
//
// A count of tokens begins at max_tokens. A call that fails in a way that is retried, or whose peer
// asks not to retry, takes one; a call that succeeds gives token_ratio. Retries are allowed while
// the count is above half of max_tokens. Nothing depends on the time, and a retry that is allowed
// takes nothing: a RetryBudget bounds how many they are, this one says when there shall be none.
#ifndef MARPC_RETRY_RETRY_THROTTLE_H_
#define MARPC_RETRY_RETRY_THROTTLE_H_

#include <atomic>

#include "absl/status/status.h"
#include "marpc/config/settings.h"

namespace marpc {

// Thread-safe, without locks. A success writes nothing while the count is full.
class RetryThrottle {
 public:
  // What is wrong with `settings`, if anything.
  static absl::Status Validate(const RetryThrottleSettings& settings);

  // `settings` must be valid.
  explicit RetryThrottle(const RetryThrottleSettings& settings);

  void OnSuccess();
  void OnFailure();
  bool AllowsRetry() const { return count_.load(std::memory_order_relaxed) > full_ / 2; }

  // 0 to max_tokens.
  double tokens() const { return count_.load(std::memory_order_relaxed) / 1000.0; }

 private:
  // In thousandths of a token.
  const int full_;
  const int per_success_;
  std::atomic<int> count_;
};

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_THROTTLE_H_
