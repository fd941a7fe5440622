#include "marpc/retry/retry_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"
#include "marpc/retry/policy_votes.h"

namespace marpc {

RetrySession::RetrySession(std::shared_ptr<const RetryStack> stack, const Limits& limits,
                           RandomSource& random)
    : stack_(std::move(stack)),
      cancel_(limits.cancel),
      announce_retries_(limits.announce_retries),
      context_(stack_->operation, MonotonicTime(), limits.deadline, random) {}

RetrySession::~RetrySession() {
  if (!done_ && (started_ || opened_ > 0)) FinishCancelled();
}

void RetrySession::GoOnWith(MonotonicTime deadline, const CancelSignal* cancel) {
  context_.deadline_ = deadline;
  cancel_ = cancel;
}

RetryStep RetrySession::Start(MonotonicTime now) {
  context_.started_at_ = context_.now_ = now;
  for (const auto& listener : stack_->listeners) {
    ++opened_;
    const absl::Status vetoed = listener->OnOpen(context_);
    if (vetoed.ok()) continue;
    error_ = NoAttemptError(vetoed.code(), reason::kRetryVetoed,
                            absl::StrCat("a listener refused it: ", vetoed.message()));
    return Finish(/*spent=*/false, "vetoed by a listener");
  }
  started_ = true;
  for (const auto& policy : stack_->policies) policy->Start(context_);
  return Decide();
}

RetryStep RetrySession::OnAttemptDone(const RetryOutcome& outcome, MonotonicTime now) {
  context_.now_ = now;
  if (context_.never_sent_ && !outcome.error.ok() && !context_.end_now_ &&
      now < context_.deadline() &&
      context_.uncounted_attempts_ < RetryContext::kMaxUncountedAttempts && !cancelled()) {
    ++context_.uncounted_attempts_;
    --context_.attempt_;
    return BeginAttempt();
  }
  context_.last_error_ = outcome.error;
  context_.last_result_ = outcome.error.ok() ? outcome.result : ResultView();
  context_.instance_ = outcome.instance;
  TellOutcome();
  return Decide();
}

void RetrySession::TellOutcome() {
  const auto& listeners = stack_->listeners;
  for (auto it = listeners.rbegin(); it != listeners.rend(); ++it) {
    context_.last_error_.ok() ? (*it)->OnSuccess(context_) : (*it)->OnError(context_);
  }
}

RetryStep RetrySession::Decide() {
  RetryVerdict verdict = AskPolicies(stack_->policies, context_).verdict;
  if (verdict.kind != RetryVerdict::Kind::kOutcomeStands && context_.end_now_) {
    verdict = RetryVerdict::OutcomeStands("the operation asked for no further attempt");
  }
  if (verdict.kind == RetryVerdict::Kind::kOutcomeStands) {
    // Before the first attempt there is no outcome that could stand.
    if (context_.attempt_ == 0) return FinishSpent(RetryVerdict::Spent(std::move(verdict.reason)));
    return Finish(/*spent=*/false, std::move(verdict.reason));
  }
  if (verdict.kind == RetryVerdict::Kind::kSpent) return FinishSpent(verdict);
  absl::Duration wait = verdict.wait;
  if (cancelled()) return FinishCancelled();
  if (context_.pushback_.has_value()) {
    if (*context_.pushback_ < absl::ZeroDuration()) {
      return FinishSpent(RetryVerdict::Spent("the peer asked not to retry"));
    }
    wait = *context_.pushback_;
  }
  if (context_.now_ + wait >= context_.deadline()) {
    return FinishSpent(
        RetryVerdict::Spent("the next attempt could not end before the deadline",
                            NoAttemptError(absl::StatusCode::kDeadlineExceeded, reason::kDeadline,
                                           "its deadline leaves no time for an attempt")));
  }
  context_.wait_ = wait;
  return context_.attempt_ == 0 ? WaitOrBegin(wait) : Commit(wait);
}

RetryStep RetrySession::Commit(absl::Duration wait) {
  RetryVerdict verdict = TakeRetry(stack_->policies, context_).verdict;
  if (verdict.kind == RetryVerdict::Kind::kSpent) return FinishSpent(verdict);
  if (verdict.kind == RetryVerdict::Kind::kOutcomeStands) {
    return Finish(/*spent=*/false, std::move(verdict.reason));
  }
  retry_decided_ = true;
  for (const auto& listener : stack_->listeners) listener->OnRetry(context_);
  Log(RetryLogLine::Event::kRetry, context_.last_error_.ok()
                                       ? "the result is one to retry"
                                       : std::string(context_.last_error_.message()));
  waits_.push_back(wait);
  return WaitOrBegin(wait);
}

RetryStep RetrySession::WaitOrBegin(absl::Duration wait) {
  until_ = context_.now_ + wait;
  const bool announce = announce_retries_ && context_.attempt_ > 0;
  if (wait <= absl::ZeroDuration() && !announce) return BeginAttempt();
  return {RetryStep::Kind::kWait, until_};
}

RetryStep RetrySession::OnWaited(MonotonicTime now) {
  context_.now_ = now;
  if (cancelled()) return FinishCancelled();
  if (now < until_) return {RetryStep::Kind::kWait, until_};
  if (now < context_.deadline()) return BeginAttempt();
  return FinishSpent(
      RetryVerdict::Spent("the deadline passed during the wait",
                          NoAttemptError(absl::StatusCode::kDeadlineExceeded, reason::kDeadline,
                                         "its deadline passed before the first attempt")));
}

RetryStep RetrySession::Cancel(MonotonicTime now) {
  context_.now_ = now;
  return FinishCancelled();
}

RetryStep RetrySession::BeginAttempt() {
  if (cancelled()) return FinishCancelled();
  retry_decided_ = false;
  ++context_.attempt_;
  context_.pushback_.reset();
  context_.never_sent_ = false;
  // What it refers to is the operation's, which may let go of it now.
  context_.last_result_ = ResultView();
  context_.attempt_deadline_ = context_.deadline();
  if (stack_->attempt_timeout > absl::ZeroDuration()) {
    context_.attempt_deadline_ =
        std::min(context_.deadline(), context_.now_ + stack_->attempt_timeout);
  }
  return {RetryStep::Kind::kAttempt, context_.attempt_deadline_};
}

RetryStep RetrySession::FinishSpent(const RetryVerdict& verdict) {
  DropRetry();
  if (context_.attempt_ == 0) {
    error_ = !verdict.error.ok() ? verdict.error
                                 : NoAttemptError(absl::StatusCode::kFailedPrecondition,
                                                  reason::kRetrySpent, verdict.reason);
  } else if (context_.last_error_.ok() && stack_->fail_when_spent) {
    error_ = FrameworkError(absl::StatusCode::kResourceExhausted, reason::kRetrySpent,
                            absl::StrCat(context_.operation_, " gave no wanted result in ",
                                         context_.attempt_, " attempts: ", verdict.reason));
  }
  return Finish(/*spent=*/true, verdict.reason);
}

RetryStep RetrySession::FinishCancelled() {
  DropRetry();
  error_ = FrameworkError(absl::StatusCode::kCancelled, reason::kCancelled,
                          absl::StrCat(context_.operation_, " was cancelled by its caller after ",
                                       context_.attempt_, " attempts"));
  return Finish(/*spent=*/false, "cancelled by the caller");
}

RetryStep RetrySession::Finish(bool spent, std::string why) {
  context_.spent_ = spent;
  context_.end_reason_ = std::move(why);
  const bool failed = !context_.last_error_.ok() || spent;
  if (failed && context_.attempt_ > 0 && error_.code() != absl::StatusCode::kCancelled) {
    Log(RetryLogLine::Event::kGaveUp, context_.end_reason_);
  }
  done_ = true;
  if (started_) EndPolicies(stack_->policies, context_);
  CloseListeners(stack_->listeners, std::exchange(opened_, 0), context_);
  return {};
}

void RetrySession::DropRetry() {
  if (!std::exchange(retry_decided_, false)) return;
  marpc::DropRetry(stack_->policies, stack_->policies.size(), context_);
}

void RetrySession::Log(RetryLogLine::Event event, std::string why) const {
  if (stack_->log == nullptr) return;
  RetryLogLine line;
  line.event = event;
  line.operation = context_.operation_;
  line.attempt = context_.attempt_;
  line.next_attempt = context_.attempt_ + 1;
  line.delay = context_.wait_;
  line.instance = context_.instance_;
  line.error = context_.last_error_;
  line.reason = std::move(why);
  line.spent = context_.spent_;
  stack_->log(line);
}

absl::Status RetrySession::NoAttemptError(absl::StatusCode code, absl::string_view reason,
                                          absl::string_view why) const {
  return FrameworkError(code, reason,
                        absl::StrCat(context_.operation_, " was not attempted: ", why));
}

}  // namespace marpc
