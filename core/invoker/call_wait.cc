#include "marpc/invoker/call_wait.h"

#include <utility>

#include "marpc/base/when_over.h"

namespace marpc {

void CallWait::Begin(Self self, For what, absl::AnyInvocable<void()> wake) {
  uint64_t number;
  {
    absl::MutexLock lock(&self->mutex_);
    number = ++self->number_;
    self->self_ = self;
    self->wait_ = std::make_unique<Wait>();
    self->wait_->wake = std::move(wake);
    self->wait_->answer = what.answer;
  }
  const auto wake_at_end = [&self, number] {
    return WhenOver([self, number](bool dropped) { Wake(self, number, dropped); });
  };
  // From the first of these on, another thread may have gone on with the call.
  if (!self->cancel_.Attach(self.get())) {
    self->timers_.At(self->clock_.Now(), wake_at_end());
    return;
  }
  // Also where there is no time to wait for: it ends the wait when the timers are stopped.
  const TimerQueue::TimerId timer = self->timers_.At(what.until, wake_at_end());
  PendingAnswer::Ticket ticket = 0;
  if (what.answer != nullptr) {
    // On the settling thread another call is in the middle of its work: go on elsewhere. Where the
    // timers are stopped, the wait's own timer has been dropped, and wakes.
    ticket = what.answer->WhenSettled([self, keeper = what.keeper, number] {
      self->timers_.At(self->clock_.Now(), [self, number] { Wake(self, number, false); });
    });
  }
  {
    absl::MutexLock lock(&self->mutex_);
    if (self->number_ == number && self->wait_ != nullptr) {
      self->wait_->timer = timer;
      self->wait_->ticket = ticket;
      return;
    }
  }
  self->timers_.Cancel(timer);
  if (what.answer != nullptr) what.answer->Forget(ticket);
}

std::unique_ptr<CallWait::Wait> CallWait::End(uint64_t number) {
  std::unique_ptr<Wait> wait;
  {
    absl::MutexLock lock(&mutex_);
    if (number_ != number || wait_ == nullptr) return nullptr;
    wait = std::move(wait_);
  }
  cancel_.Detach(this);
  timers_.Cancel(wait->timer);
  if (wait->answer != nullptr) wait->answer->Forget(wait->ticket);
  return wait;
}

void CallWait::Wake(const Self& self, uint64_t number, bool dropped) {
  const std::unique_ptr<Wait> wait = self->End(number);
  if (wait == nullptr) return;
  if (dropped) self->cancel_.Cancel();
  wait->wake();
}

void CallWait::Stop() {
  uint64_t number;
  {
    absl::MutexLock lock(&mutex_);
    number = number_;
  }
  End(number);
}

void CallWait::OnCancel() {
  Self self;
  uint64_t number;
  {
    absl::MutexLock lock(&mutex_);
    self = self_.lock();
    number = number_;
  }
  // Under the signal's lock: elsewhere. Where the call is going already, it looks for itself; where
  // the timers are stopped, the wait's own timer has been dropped, and wakes.
  if (self == nullptr) return;
  TimerQueue& timers = self->timers_;
  const MonotonicTime now = self->clock_.Now();
  timers.At(now, [self = std::move(self), number] { Wake(self, number, /*dropped=*/false); });
}

}  // namespace marpc
