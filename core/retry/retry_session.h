// One operation with its retries, as a state machine that does no I/O, reads no clock and sleeps
// nowhere. marpc::Retry runs it for a callable; run it yourself where the operation is driven by an
// event loop of your own:
//
//   marpc::RetrySession session(stack, {}, random);
//   marpc::RetryStep step = session.Start(clock.Now());
//   while (step.kind != marpc::RetryStep::Kind::kDone) {
//     if (step.kind == marpc::RetryStep::Kind::kWait) {
//       SleepUntil(step.until);
//       step = session.OnWaited(clock.Now());
//     } else {
//       absl::Status status = Send(/*deadline=*/step.until);
//       step = session.OnAttemptDone({.error = status}, clock.Now());
//     }
//   }
//   return session.error().ok() ? session.context().last_error() : session.error();
//
//   Start:         listeners open (may veto); policies Start; MayTry of all, in order
//   attempt ends:  listeners are told; MayTry of all policies, in order:
//                    one says OutcomeStands     -> done with this outcome, whatever the others say
//                    else one says Spent        -> done, spent: a fallback may answer
//                    else wait for the sum of their waits, or for the peer's push-back
//                  the wait would reach the deadline -> spent at once
//                  BeforeRetry in order; Spent  -> Dropped of those before, in reverse; spent
//   end:           policies End, listeners close, in reverse order
//
// A stack without a policy that judges outcomes tries again whatever came back, a success included.
#ifndef MARPC_RETRY_RETRY_SESSION_H_
#define MARPC_RETRY_RETRY_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "marpc/base/cancel.h"
#include "marpc/base/clock.h"
#include "marpc/base/random.h"
#include "marpc/retry/retry_context.h"
#include "marpc/retry/retry_policy.h"
#include "marpc/retry/retry_stack.h"

namespace marpc {

struct RetryStep {
  enum class Kind {
    kAttempt,  // make one; it should end at `until`
    kWait,     // until then, or until the session's cancellation
    kDone,
  };
  Kind kind = Kind::kDone;
  MonotonicTime until;
};

// Of one attempt.
struct RetryOutcome {
  // OK: it gave a result.
  absl::Status error = absl::OkStatus();
  // Must stay valid until the next attempt begins, or the session and its fallback have ended.
  ResultView result = ResultView();
  // Who was asked, for logs; empty where that makes no sense.
  std::string instance = "";
};

// Not thread-safe; each step may come from another thread than the one before.
class RetrySession {
 public:
  struct Limits {
    MonotonicTime deadline = MonotonicTime::InfiniteFuture();
    // Asked before every attempt. Null: cannot be cancelled. Must outlive the session.
    const CancelSignal* cancel = nullptr;
    // Every retry begins with a kWait step, even one that has no wait.
    bool announce_retries = false;
  };

  // `random` must outlive the session.
  RetrySession(std::shared_ptr<const RetryStack> stack, const Limits& limits, RandomSource& random);
  // Ends a session that has begun and was not brought to its end.
  ~RetrySession();
  RetrySession(const RetrySession&) = delete;
  RetrySession& operator=(const RetrySession&) = delete;

  RetryStep Start(MonotonicTime now);
  RetryStep OnAttemptDone(const RetryOutcome& outcome, MonotonicTime now);
  // Also before `until`: then it says to wait on, or to end when the session was cancelled.
  RetryStep OnWaited(MonotonicTime now);
  // Ends it now: the caller is no longer interested. Between two steps, not during an attempt.
  RetryStep Cancel(MonotonicTime now);

  // kDone: OK where the last attempt's outcome is the session's. Else what the session itself
  // failed with: vetoed, cancelled, refused before the first attempt, or (fail_when_spent) without
  // a wanted result; with marpc's ErrorInfo.
  const absl::Status& error() const { return error_; }
  RetryContext& context() { return context_; }
  const RetryContext& context() const { return context_; }
  // Before each retry.
  const std::vector<absl::Duration>& waits() const { return waits_; }

  // Of a session that goes on with another call (StatefulRetry): its limits from now on.
  void GoOnWith(MonotonicTime deadline, const CancelSignal* cancel);

 private:
  bool cancelled() const { return cancel_ != nullptr && cancel_->cancelled(); }
  // May the next attempt be made?
  RetryStep Decide();
  RetryStep Commit(absl::Duration wait);
  RetryStep BeginAttempt();
  RetryStep WaitOrBegin(absl::Duration wait);
  RetryStep FinishSpent(const RetryVerdict& verdict);
  RetryStep FinishCancelled();
  RetryStep Finish(bool spent, std::string reason);
  void DropRetry();
  void TellOutcome();
  void Log(RetryLogLine::Event event, std::string reason) const;
  absl::Status NoAttemptError(absl::StatusCode code, absl::string_view reason,
                              absl::string_view why) const;

  const std::shared_ptr<const RetryStack> stack_;
  const CancelSignal* cancel_;
  const bool announce_retries_;
  RetryContext context_;
  absl::Status error_;
  MonotonicTime until_;  // of the wait that is on
  std::vector<absl::Duration> waits_;
  size_t opened_ = 0;           // listeners
  bool started_ = false;        // the policies
  bool retry_decided_ = false;  // and its attempt has not begun
  bool done_ = false;
};

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_SESSION_H_
