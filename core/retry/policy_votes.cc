#include "marpc/retry/policy_votes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "marpc/base/user_code.h"
#include "marpc/observe/log.h"

namespace marpc {
namespace {

// In a catch block.
void LogThrow(absl::string_view who, const RetryContext& context) {
  Logger()->error("event=retry_end_threw by=\"{}\" operation={} what=\"{}\"", std::string(who),
                  context.operation(), WhatWasThrown());
}

}  // namespace

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
  while (paid > 0) {
    const auto& policy = policies[--paid];
    try {
      policy->Dropped(context);
    } catch (...) {
      LogThrow(policy->name(), context);
    }
  }
}

void EndPolicies(RetryPolicies policies, RetryContext& context) {
  for (size_t i = policies.size(); i-- > 0;) {
    try {
      policies[i]->End(context);
    } catch (...) {
      LogThrow(policies[i]->name(), context);
    }
  }
}

void CloseListeners(RetryListeners listeners, size_t opened, RetryContext& context) {
  while (opened > 0) {
    try {
      listeners[--opened]->OnClose(context);
    } catch (...) {
      LogThrow("a listener", context);
    }
  }
}

}  // namespace marpc
