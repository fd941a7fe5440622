#include "marpc/retry/retry_async.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/base/user_code.h"
#include "marpc/base/when_over.h"
#include "marpc/observe/log.h"
#include "marpc/retry/throwing.h"

namespace marpc::retry_internal {

AsyncRun::AsyncRun(const RetrySpec& spec, const RetryCall& call, TimerQueue& timers)
    : clock_(*spec.environment().clock),
      timers_(timers),
      cancel_(call.cancel),
      own_random_(RandomSource::OfThisThread().Below(UINT64_MAX)),
      operation_(spec.sealed()->operation),
      session_(std::in_place, spec.sealed(), RetrySession::Limits{call.deadline, call.cancel.get()},
               spec.environment().random != nullptr ? *spec.environment().random : own_random_) {}

void AsyncRun::Start() {
  Drive([&](RetrySession& session) { return session.Start(Now()); });
}

void AsyncRun::Drive(absl::FunctionRef<RetryStep(RetrySession&)> take) {
  const std::shared_ptr<AsyncRun> self = shared_from_this();
  RetryStep step = Guarded(take);
  while (step.kind == RetryStep::Kind::kAttempt) {
    const std::optional<RetryOutcome> outcome = Attempt();
    if (!outcome.has_value()) return;
    step = Guarded([&](RetrySession& session) { return session.OnAttemptDone(*outcome, Now()); });
  }
  if (step.kind == RetryStep::Kind::kWait) return Wait(step.until);
  Finish(session_.has_value() ? &*session_ : nullptr, thrown_);
}

RetryStep AsyncRun::Guarded(absl::FunctionRef<RetryStep(RetrySession&)> take) {
  try {
    return take(*session_);
  } catch (...) {
    thrown_ = StatusOfException(absl::StrCat("a retry policy or listener of ", operation_));
    session_.reset();  // its listeners are told before the caller is
    return {};
  }
}

std::optional<RetryOutcome> AsyncRun::Attempt() {
  uint64_t attempt;
  {
    absl::MutexLock lock(&mutex_);
    beginning_ = true;
    claimed_ = dropped_ = false;
    attempt = ++attempt_;
  }
  try {
    BeginAttempt(session_->context(), attempt);
  } catch (...) {
    return OutcomeOfThrow();
  }
  absl::MutexLock lock(&mutex_);
  beginning_ = false;
  return std::exchange(ended_, std::nullopt);
}

std::optional<RetryOutcome> AsyncRun::OutcomeOfThrow() {
  std::optional<RetryOutcome> ended;
  bool failed;
  {
    absl::MutexLock lock(&mutex_);
    beginning_ = false;
    ended = std::exchange(ended_, std::nullopt);
    // An answer that was given before stands; so does an end that another thread tells of at this
    // moment, which drives on by itself.
    failed = !claimed_ || (dropped_ && ended.has_value());
    claimed_ = true;
  }
  if (failed) return Fail(StatusOfCurrentException());
  LogThrow("start");
  return ended;
}

bool AsyncRun::ClaimEnd(uint64_t attempt, bool dropped) {
  absl::MutexLock lock(&mutex_);
  if (attempt != attempt_ || claimed_) return false;
  claimed_ = true;
  dropped_ = dropped;
  return true;
}

void AsyncRun::LogThrow(const char* who) const {
  Logger()->error("event=callback_threw operation={} callback={} what=\"{}\"", operation_, who,
                  WhatWasThrown());
}

void AsyncRun::AttemptDone(RetryOutcome outcome) {
  {
    absl::MutexLock lock(&mutex_);
    if (beginning_) {
      ended_ = std::move(outcome);
      return;
    }
  }
  Drive([&](RetrySession& session) { return session.OnAttemptDone(outcome, Now()); });
}

void AsyncRun::Wait(MonotonicTime until) {
  uint64_t wait;
  {
    absl::MutexLock lock(&mutex_);
    wait = ++wait_;
  }
  // From the first of these on, another thread may have gone on with the session.
  if (cancel_ != nullptr && !cancel_->Attach(this)) return Wake(wait, /*dropped=*/false);
  const TimerQueue::TimerId timer = timers_.At(
      until,
      WhenOver([self = shared_from_this(), wait](bool dropped) { self->Wake(wait, dropped); }));
  {
    absl::MutexLock lock(&mutex_);
    if (wait_ == wait) {
      timer_ = timer;
      return;
    }
  }
  timers_.Cancel(timer);
}

void AsyncRun::OnCancel() {
  uint64_t wait;
  {
    absl::MutexLock lock(&mutex_);
    wait = wait_;
  }
  if (wait % 2 == 0) return;  // the thread that goes on sees the cancellation itself
  // Under the signal's lock: go on elsewhere. Where the timers are stopped, the wait's own timer
  // has been dropped, and wakes.
  timers_.At(Now(), [self = shared_from_this(), wait] { self->Wake(wait, /*dropped=*/false); });
}

void AsyncRun::Wake(uint64_t wait, bool dropped) {
  TimerQueue::TimerId timer;
  {
    absl::MutexLock lock(&mutex_);
    if (wait_ != wait) return;
    ++wait_;
    timer = std::exchange(timer_, 0);
  }
  if (cancel_ != nullptr) cancel_->Detach(this);
  timers_.Cancel(timer);
  Drive([&](RetrySession& session) {
    return dropped ? session.Cancel(Now()) : session.OnWaited(Now());
  });
}

}  // namespace marpc::retry_internal
