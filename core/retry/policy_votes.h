// How the policies of a session come to one answer: the same for RetrySession and for a call's own
// policies.
#ifndef MARPC_RETRY_POLICY_VOTES_H_
#define MARPC_RETRY_POLICY_VOTES_H_

#include <cstddef>
#include <memory>

#include "absl/types/span.h"
#include "marpc/retry/retry_context.h"
#include "marpc/retry/retry_listener.h"
#include "marpc/retry/retry_policy.h"

namespace marpc {

using RetryPolicies = absl::Span<const std::shared_ptr<RetryPolicy>>;
using RetryListeners = absl::Span<const std::shared_ptr<RetryListener>>;

struct PolicyVote {
  RetryVerdict verdict;
  // Whose it is; null where all agreed.
  const RetryPolicy* by = nullptr;
};

// MayTry() of all, in order. OutcomeStands of one wins over Spent of another, and the first of a
// kind over later ones; where all agree, their waits add up.
PolicyVote AskPolicies(RetryPolicies policies, RetryContext& context);

// BeforeRetry() of all, in order. Where one refuses, those before it get back what they took.
PolicyVote TakeRetry(RetryPolicies policies, RetryContext& context);

// Dropped() of the first `paid`, in reverse order. What one throws is logged: the others are told
// as well.
void DropRetry(RetryPolicies policies, size_t paid, RetryContext& context);

// End() of all policies, in reverse order; as DropRetry().
void EndPolicies(RetryPolicies policies, RetryContext& context);

// OnClose() of the first `opened` listeners, in reverse order; as DropRetry().
void CloseListeners(RetryListeners listeners, size_t opened, RetryContext& context);

}  // namespace marpc

#endif  // MARPC_RETRY_POLICY_VOTES_H_
