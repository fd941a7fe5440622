#include "marpc/retry/retry_spec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/retry/policies.h"

namespace marpc {

void RetrySpec::Add(std::shared_ptr<RetryPolicy> policy) {
  draft_.policies.push_back(std::move(policy));
}

void RetrySpec::SetWait(marpc::Backoff backoff) { wait_ = std::move(backoff); }

void RetrySpec::SetAttemptTimeout(absl::Duration timeout) { draft_.attempt_timeout = timeout; }

void RetrySpec::Seal() {
  flaw_ = FindFlaw();
  auto stack = std::make_shared<RetryStack>(draft_);
  if (flaw_.ok()) {
    const bool judged = std::any_of(stack->policies.begin(), stack->policies.end(),
                                    [](const auto& policy) { return policy->JudgesOutcomes(); });
    if (!judged) {
      stack->policies.insert(stack->policies.begin(), RetryWhen([](const RetryContext& context) {
                               return !context.last_error().ok();
                             }));
    }
    if (wait_.has_value()) {
      marpc::Backoff wait = *wait_;
      if (jitter_.has_value()) wait.WithJitter(*jitter_);
      stack->policies.push_back(WaitBy(std::move(wait)));
    }
  }
  sealed_ = std::move(stack);
}

absl::Status RetrySpec::FindFlaw() const {
  for (const auto& policy : draft_.policies) {
    if (policy == nullptr) return absl::InvalidArgumentError("a retry policy is null");
    if (absl::Status valid = policy->Validate(); !valid.ok()) return valid;
  }
  for (const auto& listener : draft_.listeners) {
    if (listener == nullptr) return absl::InvalidArgumentError("a retry listener is null");
  }
  if (draft_.policies.empty() && !wait_.has_value()) {
    return absl::InvalidArgumentError(
        "it has no policy; add one that ends it, for example .Max(3) or .Within(absl::Seconds(5))");
  }
  if (jitter_.has_value() && !wait_.has_value()) {
    return absl::InvalidArgumentError(
        "Jitter() moves a wait, and there is none; add .Sleep(duration) or .Backoff(backoff)");
  }
  if (wait_.has_value()) {
    marpc::Backoff wait = *wait_;
    if (jitter_.has_value()) wait.WithJitter(*jitter_);
    if (absl::Status valid = wait.Validate(); !valid.ok()) return valid;
  }
  if (draft_.attempt_timeout < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("AttemptTimeout() must not be negative: ",
                                                   absl::FormatDuration(draft_.attempt_timeout)));
  }
  return absl::OkStatus();
}

absl::Status RetrySpec::Check(std::type_index result_type) const {
  absl::Status flaw = flaw_;
  for (const std::type_index expected : result_types_) {
    if (flaw.ok() && expected != result_type) {
      flaw = absl::InvalidArgumentError(
          "WhenReturns() or WhenResult() was given another type than the operation returns, and "
          "would never match");
    }
  }
  if (flaw.ok()) return flaw;
  return absl::Status(flaw.code(),
                      absl::StrCat("the retry of ", draft_.operation, ": ", flaw.message()));
}

}  // namespace marpc
