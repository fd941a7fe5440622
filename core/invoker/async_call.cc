#include "marpc/invoker/async_call.h"

#include "marpc/base/error.h"
#include "marpc/invoker/attempt_request.h"
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
      entry_(parcel_.cancel.get()),
      wait_(environment_.clock, environment_.timers, *parcel_.cancel) {}

void AsyncCall::Drive(Step step) {
  switch (step.kind) {
    case Step::Kind::kDone:
      return End(std::move(step.status));
    case Step::Kind::kWait:
      return Wait(step);
    case Step::Kind::kAttempt:
      return Attempt(step);
    case Step::Kind::kGoOn:
      return;  // there is no other attempt to wait for: the one that is under way brings the rest
  }
}

void AsyncCall::Attempt(const Step& step) {
  static_cast<ConnectedInstance*>(step.instance)
      ->connection()
      .Start(RequestOf(input_, step, parcel_.metadata, *parcel_.cancel),
             [self = shared_from_this(), attempt = step.attempt](AttemptOutcome outcome) {
               self->Drive(self->session_.OnAttemptDone(attempt, std::move(outcome), self->Now()));
             });
}

void AsyncCall::Wait(const Step& step) {
  const auto self = shared_from_this();
  CallWait::Begin(CallWait::Self(self, &wait_), {step.deadline, step.pending, parcel_.keeper},
                  [self] { self->Drive(self->session_.OnWaited(self->Now())); });
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
