#include "marpc/invoker/async_call.h"

#include "marpc/base/error.h"
#include "marpc/invoker/connected_instance.h"

namespace marpc {
namespace {

CallInput Complete(CallInput input, const AsyncCall::Parcel& parcel) {
  input.context = &parcel.context;
  input.cancel = parcel.cancel.get();
  return input;
}

}  // namespace

void AsyncCall::Start(const CallEnvironment& environment, CallInput input, Parcel parcel) {
  const auto call = std::make_shared<AsyncCall>(environment, input, std::move(parcel));
  call->entered_ = environment.in_flight.Enter(call->entry_);
  if (!call->entered_) {
    return call->End(
        FrameworkError(absl::StatusCode::kUnavailable, reason::kClosed, "the consumer is closed"));
  }
  call->Drive(call->session_.Start(call->Now()));
}

AsyncCall::AsyncCall(const CallEnvironment& environment, CallInput input, Parcel parcel)
    : environment_(environment),
      parcel_(std::move(parcel)),
      input_(Complete(input, parcel_)),
      session_(environment_.cell, input_),
      entry_(parcel_.cancel.get()) {}

void AsyncCall::Drive(Step step) {
  switch (step.kind) {
    case Step::Kind::kDone:
      return End(std::move(step.status));
    case Step::Kind::kWait:
      return Wait(step.deadline, std::move(step.pending));
    case Step::Kind::kAttempt:
      return Attempt(step);
  }
}

void AsyncCall::Attempt(const Step& step) {
  AttemptRequest attempt;
  attempt.method = input_.method;
  attempt.request = input_.request;
  attempt.reply = input_.reply;
  attempt.deadline = step.deadline;
  attempt.metadata = parcel_.metadata.empty() ? nullptr : &parcel_.metadata;
  attempt.previous_attempts = step.previous_attempts;
  attempt.cancel = parcel_.cancel.get();
  static_cast<ConnectedInstance*>(step.instance)
      ->connection()
      .Start(attempt, [self = shared_from_this()](AttemptOutcome outcome) {
        self->Drive(self->session_.OnAttemptDone(std::move(outcome), self->Now()));
      });
}

void AsyncCall::Wait(MonotonicTime until, std::shared_ptr<PendingAnswer> pending) {
  const auto self = shared_from_this();
  // Should the call end on another thread meanwhile, the environment must outlive this function.
  const std::shared_ptr<void> keeper = parcel_.keeper;
  awaited_ = pending;
  uint64_t wait;
  {
    absl::MutexLock lock(&mutex_);
    wait = ++wait_;
  }
  // From the first of these on, another thread may have gone on with the call.
  if (!parcel_.cancel->Attach(this)) return Wake(wait);
  TimerQueue::TimerId timer = 0;
  if (!until.is_infinite())
    timer = environment_.timers.At(until, [self, wait] { self->Wake(wait); });
  PendingAnswer::Ticket ticket = 0;
  if (pending != nullptr) {
    // On the settling thread another call is in the middle of its work: go on elsewhere.
    ticket = pending->WhenSettled([self, keeper, wait] { self->WakeSoon(wait); });
  }
  {
    absl::MutexLock lock(&mutex_);
    if (wait_ == wait) {
      timer_ = timer;
      ticket_ = ticket;
      return;
    }
  }
  environment_.timers.Cancel(timer);
  if (pending != nullptr) pending->Forget(ticket);
}

void AsyncCall::OnCancel() {
  uint64_t wait;
  {
    absl::MutexLock lock(&mutex_);
    wait = wait_;
  }
  // Where no wait is on any more, the thread that goes on sees the cancellation itself.
  if (wait % 2 == 1) WakeSoon(wait);  // under the signal's lock: elsewhere
}

void AsyncCall::WakeSoon(uint64_t wait) {
  environment_.timers.At(environment_.clock.Now(),
                         [self = shared_from_this(), wait] { self->Wake(wait); });
}

void AsyncCall::Wake(uint64_t wait) {
  TimerQueue::TimerId timer;
  PendingAnswer::Ticket ticket;
  {
    absl::MutexLock lock(&mutex_);
    if (wait_ != wait) return;
    ++wait_;
    timer = std::exchange(timer_, 0);
    ticket = std::exchange(ticket_, 0);
  }
  parcel_.cancel->Detach(this);
  environment_.timers.Cancel(timer);
  if (const std::shared_ptr<PendingAnswer> awaited = std::move(awaited_)) awaited->Forget(ticket);
  Drive(session_.OnWaited(Now()));
}

void AsyncCall::End(absl::Status status) {
  if (entered_) environment_.in_flight.Leave(entry_);
  // The call has left before its caller is told: the caller may close or destroy everything from
  // here.
  const std::shared_ptr<void> keeper = std::move(parcel_.keeper);
  absl::AnyInvocable<void(absl::Status)> done = std::move(parcel_.done);
  done(std::move(status));
}

}  // namespace marpc
