#include "marpc/invoker/call_wait.h"

#include <utility>

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
  // From the first of these on, another thread may have gone on with the call.
  if (!self->cancel_.Attach(self.get())) return WakeSoon(self, number);
  TimerQueue::TimerId timer = 0;
  if (!what.until.is_infinite()) {
    timer = self->timers_.At(what.until, [self, number] { Wake(self, number); });
  }
  PendingAnswer::Ticket ticket = 0;
  if (what.answer != nullptr) {
    // On the settling thread another call is in the middle of its work: go on elsewhere.
    ticket =
        what.answer->WhenSettled([self, keeper = what.keeper, number] { WakeSoon(self, number); });
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

void CallWait::Wake(const Self& self, uint64_t number) {
  if (const std::unique_ptr<Wait> wait = self->End(number)) wait->wake();
}

void CallWait::WakeSoon(const Self& self, uint64_t number) {
  self->timers_.At(self->clock_.Now(), [self, number] { Wake(self, number); });
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
  // Under the signal's lock: elsewhere. Where the call is going already, it looks for itself.
  if (self != nullptr) WakeSoon(self, number);
}

}  // namespace marpc
