#include "marpc/retry/grpc_retry_policy.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/retry/policies.h"

namespace marpc {
namespace {

constexpr double kJitter = 0.2;

}  // namespace

absl::Status GrpcRetryPolicy::Validate() const {
  if (max_attempts < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "maxAttempts counts the first attempt too and must be 2 or more, not ", max_attempts));
  }
  if (initial_backoff <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("initialBackoff must be positive");
  }
  if (max_backoff <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("maxBackoff must be positive");
  }
  if (!(backoff_multiplier > 0)) {
    return absl::InvalidArgumentError("backoffMultiplier must be positive");
  }
  if (retryable_status_codes.empty()) {
    return absl::InvalidArgumentError("retryableStatusCodes must name at least one code");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::shared_ptr<RetryPolicy>>> ToPolicies(
    const GrpcRetryPolicy& policy, std::shared_ptr<RetryThrottle> throttle) {
  if (absl::Status valid = policy.Validate(); !valid.ok()) return valid;
  const auto retryable = [codes = policy.retryable_status_codes](const absl::Status& error) {
    return std::find(codes.begin(), codes.end(), error.code()) != codes.end();
  };
  BackoffSettings backoff;
  backoff.strategy = BackoffStrategy::kExponential;
  backoff.initial = std::min(policy.initial_backoff, policy.max_backoff);
  backoff.max = policy.max_backoff;
  backoff.factor = policy.backoff_multiplier;
  backoff.jitter = kJitter;
  backoff.jitter_may_exceed_max = true;
  std::vector<std::shared_ptr<RetryPolicy>> policies = {
      RetryWhen([retryable](const RetryContext& context) {
        return !context.last_error().ok() && retryable(context.last_error());
      }),
      MaxAttempts(policy.effective_max_attempts()),
      WaitBy(Backoff(backoff)),
  };
  if (throttle != nullptr) policies.push_back(Throttle(std::move(throttle), retryable));
  return policies;
}

}  // namespace marpc
