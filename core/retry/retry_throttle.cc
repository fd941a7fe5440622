#include "marpc/retry/retry_throttle.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

constexpr int kToken = 1000;
constexpr int kMostTokens = 1000;

// Further decimals are cut; 0.29 * 1000 is 290, whatever a double makes of it.
double Thousandths(double ratio) { return std::floor(ratio * kToken + 1e-6); }

}  // namespace

absl::Status RetryThrottle::Validate(const RetryThrottleSettings& settings) {
  if (settings.max_tokens < 1 || settings.max_tokens > kMostTokens) {
    return absl::InvalidArgumentError(absl::StrCat("retry.throttle.maxTokens is from 1 to ",
                                                   kMostTokens, ", not ", settings.max_tokens));
  }
  if (!(Thousandths(settings.token_ratio) >= 1) || !std::isfinite(settings.token_ratio)) {
    return absl::InvalidArgumentError(
        absl::StrCat("retry.throttle.tokenRatio is at least 0.001, not ", settings.token_ratio));
  }
  return absl::OkStatus();
}

RetryThrottle::RetryThrottle(const RetryThrottleSettings& settings)
    : full_(settings.max_tokens * kToken),
      per_success_(static_cast<int>(
          std::min(Thousandths(settings.token_ratio), static_cast<double>(full_)))),
      count_(full_) {}

void RetryThrottle::OnSuccess() {
  int count = count_.load(std::memory_order_relaxed);
  while (count < full_ &&
         !count_.compare_exchange_weak(count, std::min(count + per_success_, full_),
                                       std::memory_order_relaxed)) {
  }
}

void RetryThrottle::OnFailure() {
  int count = count_.load(std::memory_order_relaxed);
  while (count > 0 && !count_.compare_exchange_weak(count, std::max(count - kToken, 0),
                                                    std::memory_order_relaxed)) {
  }
}

}  // namespace marpc
