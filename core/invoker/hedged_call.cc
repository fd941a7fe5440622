#include "marpc/invoker/hedged_call.h"

#include <algorithm>
#include <utility>

#include "marpc/base/error.h"
#include "marpc/invoker/attempt_request.h"
#include "marpc/invoker/connected_instance.h"

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
  call->Take([&](const Moment& moment) { return call->session_.Start(moment); });
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
      session_(environment_.cell, input_) {}

void HedgedCall::Take(absl::FunctionRef<Step(const Moment&)> take) {
  Step step;
  uint64_t number;
  std::shared_ptr<Attempt> attempt;
  absl::InlinedVector<std::shared_ptr<Attempt>, 2> losers;
  {
    PlainMutexLock lock(&mutex_);
    if (ended_) return;
    step = take({environment_.clock.Now(), RandomSource::OfThisThread()});
    number = ++steps_;
    waiting_ = step.kind == Step::Kind::kWait;
    if (step.kind == Step::Kind::kDone) {
      ended_ = true;
      losers.swap(in_flight_);
    } else if (step.kind == Step::Kind::kAttempt) {
      attempt = std::make_shared<Attempt>();
      attempt->number = step.attempt;
      attempt->reply.reset(input_.reply->New());
      in_flight_.push_back(attempt);
    }
  }
  WaitFor(step, number);
  for (const auto& loser : losers) loser->cancel.Cancel();
  switch (step.kind) {
    case Step::Kind::kDone:
      return End(std::move(step.status));
    case Step::Kind::kAttempt:
      return Begin(std::move(attempt), step);
    case Step::Kind::kGoOn:
    case Step::Kind::kWait:
      return;
  }
}

void HedgedCall::Begin(std::shared_ptr<Attempt> attempt, const Step& step) {
  AttemptRequest request = RequestOf(input_, step, parcel_.metadata, attempt->cancel);
  request.reply = attempt->reply.get();
  static_cast<ConnectedInstance*>(step.instance)
      ->connection()
      .Start(request, [self = shared_from_this(), attempt](AttemptOutcome outcome) {
        self->OnAttemptDone(*attempt, std::move(outcome));
      });
}

void HedgedCall::OnAttemptDone(Attempt& attempt, AttemptOutcome outcome) {
  Take([&](const Moment& moment) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    in_flight_.erase(std::find_if(in_flight_.begin(), in_flight_.end(),
                                  [&](const auto& one) { return one.get() == &attempt; }));
    if (outcome.status.ok()) {
      input_.reply->Clear();
      input_.reply->CheckTypeAndMergeFrom(*attempt.reply);
    }
    return session_.OnAttemptDone(attempt.number, std::move(outcome), moment);
  });
}

void HedgedCall::WaitFor(const Step& step, uint64_t number) {
  // Threads come here in any order; what an older step waited for does not matter any more.
  PlainMutexLock lock(&wait_mutex_);
  if (number < latest_wait_) return;
  latest_wait_ = number;
  wait_.Stop();
  if (step.kind == Step::Kind::kDone) return;
  const auto self = shared_from_this();
  const MonotonicTime until = step.kind == Step::Kind::kWait ? step.deadline : step.hedge_at;
  CallWait::Begin(CallWait::Self(self, &wait_), {until, step.pending, keeper_},
                  [self, number] { self->OnWake(number); });
}

void HedgedCall::OnWake(uint64_t number) {
  absl::InlinedVector<std::shared_ptr<Attempt>, 2> cancelled;
  bool current;
  bool waiting;
  {
    PlainMutexLock lock(&mutex_);
    current = !ended_ && steps_ == number;
    waiting = waiting_;
    // The attempts say that they were cancelled, and that is the end of the call.
    if (parcel_.cancel->cancelled() && !waiting_) cancelled = in_flight_;
  }
  if (!cancelled.empty()) {
    for (const auto& attempt : cancelled) attempt->cancel.Cancel();
    return;
  }
  if (!current) return;
  Take([&](const Moment& moment) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return waiting ? session_.OnWaited(moment) : session_.OnHedgeTime(moment);
  });
}

void HedgedCall::End(absl::Status status) {
  if (entered_) environment_.in_flight.Leave(entry_);
  // The call has left before its caller is told: the caller may close or destroy everything from
  // here.
  absl::AnyInvocable<void(absl::Status)> done = std::move(parcel_.done);
  done(std::move(status));
}

}  // namespace marpc
