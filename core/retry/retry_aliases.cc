#include <memory>

#include "marpc/retry/make_retryable.h"

namespace marpc {
namespace {

Retry WithDefaults(const Retry& retry) {
  return retry.Max(10).Budget(
      std::make_shared<RetryBudget>(RetryBudgetSettings(), Clock::Real().Now()));
}

Retry WithWaits(const Retry& retry) {
  return retry.Backoff(marpc::Backoff::Decorrelated(absl::Milliseconds(100), absl::Minutes(1)));
}

}  // namespace

Retry RetryOnError() { return WithDefaults(Retry::OnError()); }
Retry RetryOnFalsy() { return WithDefaults(Retry::WhenFalsy()); }
Retry BackoffOnError() { return WithWaits(RetryOnError()); }
Retry BackoffOnFalsy() { return WithWaits(RetryOnFalsy()); }

}  // namespace marpc
