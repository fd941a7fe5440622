#include "marpc/health/bounded_probe.h"

namespace marpc {

void BoundedProbe::Check(const std::shared_ptr<LiveInstance>& instance, const Question& question,
                         absl::AnyInvocable<void(Result)> done) {
  CheckIf(nullptr, instance, question, std::move(done));
}

void BoundedProbe::CheckIf(absl::AnyInvocable<bool()> may_begin,
                           const std::shared_ptr<LiveInstance>& instance, const Question& question,
                           absl::AnyInvocable<void(Result)> done) {
  {
    PlainMutexLock lock(&mutex_);
    waiting_.push_back({std::move(may_begin), instance, question, std::move(done)});
  }
  Start();
}

void BoundedProbe::Start() {
  PlainMutexLock lock(&mutex_);
  // Another thread is at it, or this one further up: a check may end before it returns.
  if (starting_) return;
  starting_ = true;
  while (!waiting_.empty() && under_way_ < max_at_once_) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    ++under_way_;
    mutex_.unlock();
    Begin(std::move(next));
    mutex_.lock();
  }
  starting_ = false;
}

void BoundedProbe::Begin(Waiting next) {
  if (next.may_begin != nullptr && !next.may_begin()) {
    OnEnded();
    return next.done({});
  }
  inner_->Check(next.instance, next.question,
                [self = shared_from_this(), done = std::move(next.done)](Result result) mutable {
                  self->OnEnded();
                  done(std::move(result));
                  self->Start();
                });
}

void BoundedProbe::OnEnded() {
  PlainMutexLock lock(&mutex_);
  --under_way_;
}

}  // namespace marpc
