#include "marpc/retry/policy_votes.h"

#include <algorithm>
#include <utility>

namespace marpc {

PolicyVote AskPolicies(RetryPolicies policies, RetryContext& context) {
  absl::Duration wait = absl::ZeroDuration();
  PolicyVote stands;
  PolicyVote spent;
  for (const auto& policy : policies) {
    RetryVerdict verdict = policy->MayTry(context);
    wait += std::max(verdict.wait, absl::ZeroDuration());
    if (verdict.kind == RetryVerdict::Kind::kTryAgain) continue;
    PolicyVote& kept = verdict.kind == RetryVerdict::Kind::kOutcomeStands ? stands : spent;
    if (kept.by == nullptr) kept = {std::move(verdict), policy.get()};
  }
  if (stands.by != nullptr) return stands;
  if (spent.by != nullptr) return spent;
  return {RetryVerdict::TryAgain(wait), nullptr};
}

PolicyVote TakeRetry(RetryPolicies policies, RetryContext& context) {
  for (size_t i = 0; i < policies.size(); ++i) {
    RetryVerdict verdict = policies[i]->BeforeRetry(context);
    if (verdict.kind == RetryVerdict::Kind::kTryAgain) continue;
    DropRetry(policies, i, context);
    return {std::move(verdict), policies[i].get()};
  }
  return {RetryVerdict::TryAgain(), nullptr};
}

void DropRetry(RetryPolicies policies, size_t paid, RetryContext& context) {
  while (paid > 0) policies[--paid]->Dropped(context);
}

}  // namespace marpc
