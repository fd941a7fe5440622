#include "marpc/invoker/async_call.h"

#include <utility>

#include "marpc/base/error.h"
#include "marpc/invoker/attempt_request.h"
#include "marpc/invoker/connected_instance.h"
#include "marpc/invoker/guarded_step.h"

namespace marpc {
namespace {

CallInput Complete(CallInput input, const AsyncCall::Parcel& parcel) {
  input.context = &parcel.context;
  input.metadata = &parcel.metadata;
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
  call->Go([&](CallSession& session) { return session.Start(call->Now()); });
}

AsyncCall::AsyncCall(const CallEnvironment& environment, CallInput input, Parcel parcel)
    : environment_(environment),
      parcel_(std::move(parcel)),
      input_(Complete(input, parcel_)),
      session_(std::in_place, environment_.cell, input_),
      entry_(parcel_.cancel.get()),
      wait_(environment_.clock, environment_.timers, *parcel_.cancel) {}

AsyncCall::~AsyncCall() { Leave(); }

template <typename Take>
void AsyncCall::Go(Take take) {
  Drive(GuardedStep(session_, *input_.method, std::move(take)));
}

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
               self->Go([&](CallSession& session) {
                 return session.OnAttemptDone(attempt, std::move(outcome), self->Now());
               });
             });
}

void AsyncCall::Wait(const Step& step) {
  const auto self = shared_from_this();
  CallWait::Begin(
      CallWait::Self(self, &wait_), {step.deadline, step.pending, parcel_.keeper},
      [self] { self->Go([&](CallSession& session) { return session.OnWaited(self->Now()); }); });
}

void AsyncCall::End(absl::Status status) {
  Leave();
  // The call has left before its caller is told: the caller may close or destroy everything from
  // here.
  const std::shared_ptr<void> keeper = std::move(parcel_.keeper);
  absl::AnyInvocable<void(absl::Status)> done = std::move(parcel_.done);
  done(std::move(status));
}

void AsyncCall::Leave() {
  if (std::exchange(entered_, false)) environment_.in_flight.Leave(entry_);
}

}  // namespace marpc
