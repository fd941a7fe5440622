#include "marpc/retry/retry_run.h"

namespace marpc {

void RunToEnd(RetrySession& session, RetryStep step, RetryOperation& operation,
              const RetryEnvironment& environment, CancelSignal* cancel) {
  while (step.kind != RetryStep::Kind::kDone) {
    if (step.kind == RetryStep::Kind::kWait) {
      environment.sleeper->SleepUntil(step.until, cancel);
      step = session.OnWaited(environment.clock->Now());
    } else {
      const RetryOutcome outcome = operation.Attempt(session.context());
      step = session.OnAttemptDone(outcome, environment.clock->Now());
    }
  }
}

void FillReport(const RetrySession& session, RetryReport& report) {
  const RetryContext& context = session.context();
  report.attempts = context.attempt();
  report.waits = session.waits();
  report.uncounted_attempts = context.uncounted_attempts();
  report.last_error = context.last_error();
  report.end_reason = context.end_reason();
  report.spent = context.spent();
}

}  // namespace marpc
