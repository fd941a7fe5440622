// The `retryPolicy` of a gRPC service config (gRFC A6) as policies of marpc, for those who have
// one.
//
//   marpc::GrpcRetryPolicy policy;
//   policy.max_attempts = 4;
//   policy.retryable_status_codes = {absl::StatusCode::kUnavailable};
//   absl::StatusOr<std::vector<std::shared_ptr<marpc::RetryPolicy>>> policies =
//       marpc::ToPolicies(policy, throttle);
//   marpc::Retry retry = marpc::Retry::With(*std::move(policies));
//
// What an operation has to say itself, by its RetryContext: the server's push-back (RetryAfter), an
// attempt that never left (NeverSent, gRPC's transparent retry), an answer that has begun (EndNow,
// gRPC's committed call).
#ifndef MARPC_RETRY_GRPC_RETRY_POLICY_H_
#define MARPC_RETRY_GRPC_RETRY_POLICY_H_

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "marpc/retry/retry_policy.h"
#include "marpc/retry/retry_throttle.h"

namespace marpc {

struct GrpcRetryPolicy {
  // The first one included; at least 2. More than kMaxAttempts are kMaxAttempts.
  int max_attempts = 0;
  static constexpr int kMaxAttempts = 5;
  // initial * multiplier^(n-1), at most max, then ± 20 %. All must be positive.
  absl::Duration initial_backoff = absl::ZeroDuration();
  absl::Duration max_backoff = absl::ZeroDuration();
  double backoff_multiplier = 0;
  // At least one.
  std::vector<absl::StatusCode> retryable_status_codes;

  absl::Status Validate() const;
  int effective_max_attempts() const { return std::min(max_attempts, kMaxAttempts); }
};

// `throttle` (`retryThrottling`) is shared by all methods of a server; null: none.
absl::StatusOr<std::vector<std::shared_ptr<RetryPolicy>>> ToPolicies(
    const GrpcRetryPolicy& policy, std::shared_ptr<RetryThrottle> throttle = nullptr);

}  // namespace marpc

#endif  // MARPC_RETRY_GRPC_RETRY_POLICY_H_
