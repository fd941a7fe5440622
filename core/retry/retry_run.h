// Runs a session in the calling thread.
#ifndef MARPC_RETRY_RETRY_RUN_H_
#define MARPC_RETRY_RETRY_RUN_H_

#include "marpc/base/cancel.h"
#include "marpc/retry/retry_report.h"
#include "marpc/retry/retry_session.h"
#include "marpc/retry/sleeper.h"

namespace marpc {

class RetryOperation {
 public:
  virtual RetryOutcome Attempt(RetryContext& context) = 0;

 protected:
  ~RetryOperation() = default;
};

// From `step` to the session's end. `cancel` may be null.
void RunToEnd(RetrySession& session, RetryStep step, RetryOperation& operation,
              const RetryEnvironment& environment, CancelSignal* cancel);

// All but answered_by and fallback_ran.
void FillReport(const RetrySession& session, RetryReport& report);

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_RUN_H_
