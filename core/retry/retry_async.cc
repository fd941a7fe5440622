#include "marpc/retry/retry_async.h"

#include <utility>

#include "marpc/base/when_over.h"

namespace marpc::retry_internal {

AsyncRun::AsyncRun(const RetrySpec& spec, const RetryCall& call, TimerQueue& timers)
    : clock_(*spec.environment().clock),
      timers_(timers),
      cancel_(call.cancel),
      own_random_(RandomSource::OfThisThread().Below(UINT64_MAX)),
      session_(spec.sealed(), {call.deadline, call.cancel.get()},
               spec.environment().random != nullptr ? *spec.environment().random : own_random_) {}

void AsyncRun::Start() { Drive(session_.Start(Now())); }

void AsyncRun::Drive(RetryStep step) {
  const std::shared_ptr<AsyncRun> self = shared_from_this();
  while (step.kind == RetryStep::Kind::kAttempt) {
    const std::optional<RetryOutcome> outcome = Attempt();
    if (!outcome.has_value()) return;
    step = session_.OnAttemptDone(*outcome, Now());
  }
  step.kind == RetryStep::Kind::kWait ? Wait(step.until) : Finish(session_);
}

std::optional<RetryOutcome> AsyncRun::Attempt() {
  {
    absl::MutexLock lock(&mutex_);
    beginning_ = true;
  }
  BeginAttempt(session_.context());
  absl::MutexLock lock(&mutex_);
  beginning_ = false;
  return std::exchange(ended_, std::nullopt);
}

void AsyncRun::AttemptDone(RetryOutcome outcome) {
  {
    absl::MutexLock lock(&mutex_);
    if (beginning_) {
      ended_ = std::move(outcome);
      return;
    }
  }
  Drive(session_.OnAttemptDone(outcome, Now()));
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
  Drive(dropped ? session_.Cancel(Now()) : session_.OnWaited(Now()));
}

}  // namespace marpc::retry_internal
