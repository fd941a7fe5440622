#include "marpc/invoker/hedged_call.h"

#include <algorithm>
#include <utility>

#include "marpc/base/error.h"
#include "marpc/invoker/attempt_request.h"
#include "marpc/invoker/connected_instance.h"
#include "marpc/invoker/guarded_step.h"

namespace marpc {
namespace {

std::unique_ptr<google::protobuf::MessageLite> CopyOf(
    const google::protobuf::MessageLite& message) {
  std::unique_ptr<google::protobuf::MessageLite> copy(message.New());
  copy->CheckTypeAndMergeFrom(message);
  return copy;
}

CallInput Complete(CallInput input, const AsyncCall::Parcel& parcel,
                   const google::protobuf::MessageLite* request) {
  input.context = &parcel.context;
  input.metadata = &parcel.metadata;
  input.cancel = parcel.cancel.get();
  input.request = request;
  return input;
}

}  // namespace

void HedgedCall::Start(const CallEnvironment& environment, CallInput input,
                       AsyncCall::Parcel parcel) {
  const auto call = std::make_shared<HedgedCall>(environment, input, std::move(parcel));
  call->entered_ = environment.in_flight.Enter(call->entry_);
  if (!call->entered_) {
    return call->End(
        FrameworkError(absl::StatusCode::kUnavailable, reason::kClosed, "the consumer is closed"));
  }
  call->Post([call = call.get()] {
    call->Go([&](CallSession& session) { return session.Start(call->Now()); });
  });
}

HedgedCall::HedgedCall(const CallEnvironment& environment, CallInput input,
                       AsyncCall::Parcel parcel)
    : environment_(environment),
      parcel_(std::move(parcel)),
      request_(CopyOf(*input.request)),
      input_(Complete(input, parcel_, request_.get())),
      keeper_(parcel_.keeper),
      entry_(parcel_.cancel.get()),
      wait_(environment_.clock, environment_.timers, *parcel_.cancel),
      session_(std::in_place, environment_.cell, input_) {}

HedgedCall::~HedgedCall() { Leave(); }

void HedgedCall::Post(absl::AnyInvocable<void()> event) {
  const std::shared_ptr<HedgedCall> self = shared_from_this();
  {
    PlainMutexLock lock(&mutex_);
    if (ended_) return;
    if (busy_) return events_.push_back(std::move(event));
    busy_ = true;
  }
  while (event != nullptr) {
    event();
    event = nullptr;
    PlainMutexLock lock(&mutex_);
    busy_ = !ended_ && !events_.empty();
    if (!busy_) return;
    event = std::move(events_.front());
    events_.pop_front();
  }
}

template <typename TakeStep>
void HedgedCall::Go(TakeStep take) {
  Take(GuardedStep(session_, *input_.method, std::move(take)));
}

void HedgedCall::Take(Step step) {
  ++steps_;
  waiting_ = step.kind == Step::Kind::kWait;
  switch (step.kind) {
    case Step::Kind::kDone:
      return End(std::move(step.status));
    case Step::Kind::kAttempt:
      return Begin(step);
    case Step::Kind::kGoOn:
    case Step::Kind::kWait:
      return WaitFor(step);
  }
}

void HedgedCall::Begin(const Step& step) {
  const auto attempt = std::make_shared<Attempt>();
  attempt->number = step.attempt;
  attempt->reply.reset(input_.reply->New());
  in_flight_.push_back(attempt);
  WaitFor(step);
  AttemptRequest request = RequestOf(input_, step, parcel_.metadata, attempt->cancel);
  request.reply = attempt->reply.get();
  static_cast<ConnectedInstance*>(step.instance)
      ->connection()
      .Start(request, [self = shared_from_this(), attempt](AttemptOutcome outcome) {
        self->Post([self = self.get(), attempt, outcome = std::move(outcome)]() mutable {
          self->OnAttemptDone(*attempt, std::move(outcome));
        });
      });
}

void HedgedCall::OnAttemptDone(Attempt& attempt, AttemptOutcome outcome) {
  in_flight_.erase(std::find_if(in_flight_.begin(), in_flight_.end(),
                                [&](const auto& one) { return one.get() == &attempt; }));
  if (outcome.status.ok()) {
    input_.reply->Clear();
    input_.reply->CheckTypeAndMergeFrom(*attempt.reply);
  }
  Go([&](CallSession& session) {
    return session.OnAttemptDone(attempt.number, std::move(outcome), Now());
  });
}

void HedgedCall::WaitFor(const Step& step) {
  wait_.Stop();
  const auto self = shared_from_this();
  const MonotonicTime until = waiting_ ? step.deadline : step.hedge_at;
  CallWait::Begin(CallWait::Self(self, &wait_), {until, step.pending, keeper_},
                  [self, number = steps_] {
                    self->Post([self = self.get(), number] { self->OnWake(number); });
                  });
}

void HedgedCall::OnWake(uint64_t number) {
  if (parcel_.cancel->cancelled() && !waiting_) {
    // The attempts say that they were cancelled, and that is the end of the call.
    for (const auto& attempt : in_flight_) attempt->cancel.Cancel();
    return;
  }
  if (steps_ != number) return;
  Go([&](CallSession& session) {
    return waiting_ ? session.OnWaited(Now()) : session.OnHedgeTime(Now());
  });
}

void HedgedCall::End(absl::Status status) {
  std::deque<absl::AnyInvocable<void()>> too_late;
  {
    PlainMutexLock lock(&mutex_);
    ended_ = true;
    too_late.swap(events_);
  }
  wait_.Stop();
  for (const auto& loser : in_flight_) loser->cancel.Cancel();
  in_flight_.clear();
  Leave();
  // The call has left before its caller is told: the caller may close or destroy everything from
  // here.
  absl::AnyInvocable<void(absl::Status)> done = std::move(parcel_.done);
  done(std::move(status));
}

void HedgedCall::Leave() {
  if (std::exchange(entered_, false)) environment_.in_flight.Leave(entry_);
}

}  // namespace marpc
