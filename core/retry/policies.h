// The built-in policies. A stack of them is asked in order; all must agree to another attempt.
//
//   const auto aborted = [](const marpc::RetryContext& context) {
//     return absl::IsAborted(context.last_error());
//   };
//   marpc::Retry retry = marpc::Retry::With(
//       marpc::RetryWhen(aborted),
//       marpc::MaxAttempts(5),
//       marpc::TotalTime(absl::Seconds(2)),
//       marpc::WaitBy(marpc::Backoff::Exponential(absl::Milliseconds(50), absl::Seconds(1))),
//       marpc::Budget(budget));
//
// | policy       | no further attempt                                    | default             |
// |--------------|-------------------------------------------------------|---------------------|
// | MaxAttempts  | after n attempts, the first one included; n >= 1      | -                   |
// | MaxRetries   | after n retries; 0: one attempt                       | -                   |
// | RetryWhen    | an outcome that the predicate does not want           | -                   |
// | Classify     | an outcome that the rules do not want retried         | ErrorRules'         |
// | WaitBy       | never; waits before each retry                        | -                   |
// | TotalTime    | none that would begin `limit` after the start, or later | -                 |
// | Budget       | when the budget is spent                              | RetryBudgetSettings |
// | Throttle     | while too many of the latest calls failed             | RetryThrottle's     |
// | Breaker      | SessionBreaker, CircuitBreaker: while it is open      | -                   |
// | AnyOf        | when none of its members agrees                       | -                   |
//
// The same objects serve all sessions and threads.
#ifndef MARPC_RETRY_POLICIES_H_
#define MARPC_RETRY_POLICIES_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/retry/backoff.h"
#include "marpc/retry/error_rules.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/retry/retry_policy.h"
#include "marpc/retry/retry_throttle.h"
#include "marpc/retry/session_breaker.h"

namespace marpc {

// `n` counts the first attempt too; below 1 is InvalidArgument.
std::shared_ptr<RetryPolicy> MaxAttempts(int n);
// `n` counts what follows the first attempt; below 0 is InvalidArgument.
std::shared_ptr<RetryPolicy> MaxRetries(int n);

// Judges outcomes: try again where `wanted` says so, for errors and results alike. Not asked before
// the first attempt. Thread-safe.
std::shared_ptr<RetryPolicy> RetryWhen(std::function<bool(const RetryContext&)> wanted);
// Judges outcomes by rules (error_rules.h).
std::shared_ptr<RetryPolicy> Classify(ErrorRules rules);

std::shared_ptr<RetryPolicy> WaitBy(Backoff backoff);
// `own` gives the wait; where it gives none, or a negative one, `otherwise` does. Thread-safe.
std::shared_ptr<RetryPolicy> WaitBy(
    std::function<std::optional<absl::Duration>(const RetryContext&)> own, Backoff otherwise);

// Of the whole session: an attempt begins only while elapsed < limit, and no wait is begun that
// ends at the limit or after it. The last attempt's deadline is the limit. `limit` must be
// positive.
std::shared_ptr<RetryPolicy> TotalTime(absl::Duration limit);

// Each session deposits, each retry takes; a retry that does not happen is given back.
std::shared_ptr<RetryPolicy> Budget(std::shared_ptr<RetryBudget> budget);

// Tells the throttle of every attempt that failed or succeeded, and asks it. `counts` says which
// errors are failures to it; null: as for the circuit breaker below. A push-back that forbids
// retries always is one.
std::shared_ptr<RetryPolicy> Throttle(std::shared_ptr<RetryThrottle> throttle,
                                      std::function<bool(const absl::Status&)> counts = nullptr);

// A session that is refused fails with Unavailable, reason CIRCUIT_BREAKER_OPEN.
std::shared_ptr<RetryPolicy> Breaker(std::shared_ptr<SessionBreaker> breaker);
// Asks for a permit before every attempt and reports the attempt's outcome. `counts` says which
// errors speak against the peer; null: all but those that are answers to a bad request (not found,
// invalid, denied ...). A cancelled attempt says nothing.
std::shared_ptr<RetryPolicy> Breaker(std::shared_ptr<CircuitBreaker> breaker,
                                     std::function<bool(const absl::Status&)> counts = nullptr);

// Tries again as long as one of the members would; waits for the shortest of their waits. What a
// retry costs is taken from the first member that agrees.
std::shared_ptr<RetryPolicy> AnyOf(std::vector<std::shared_ptr<RetryPolicy>> members);

}  // namespace marpc

#endif  // MARPC_RETRY_POLICIES_H_
