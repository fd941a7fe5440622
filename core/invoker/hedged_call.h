// Drives a call that may have several attempts in flight: an attempt that is not answered in time
// gets company, the first answer wins, the others are cancelled.
#ifndef MARPC_INVOKER_HEDGED_CALL_H_
#define MARPC_INVOKER_HEDGED_CALL_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "google/protobuf/message_lite.h"
#include "marpc/base/cancel.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/invoker/async_call.h"
#include "marpc/invoker/call_session.h"
#include "marpc/invoker/call_wait.h"

namespace marpc {

// Keeps itself alive until it has ended and every attempt of it has, too: the environment and the
// request live as long. The caller hears of the end as soon as there is an answer.
class HedgedCall final : public std::enable_shared_from_this<HedgedCall> {
 public:
  // As AsyncCall::Start(). The request is copied, the reply is not touched after `done` has begun.
  static void Start(const CallEnvironment& environment, CallInput input, AsyncCall::Parcel parcel);

  // Use Start().
  HedgedCall(const CallEnvironment& environment, CallInput input, AsyncCall::Parcel parcel);

 private:
  // Each attempt fills a reply of its own and can be cancelled on its own.
  struct Attempt {
    int number = 0;
    std::unique_ptr<google::protobuf::MessageLite> reply;
    CancelSignal cancel;
  };

  // Takes a step, one thread at a time, and does what it asks for.
  void Take(absl::FunctionRef<Step(const Moment&)> step);
  void OnAttemptDone(Attempt& attempt, AttemptOutcome outcome);
  // What the latest wait was for has come, unless something else came first.
  void OnWake(uint64_t step);
  void Begin(std::shared_ptr<Attempt> attempt, const Step& step);
  // Waits for what step `number` asks for, instead of what the steps before it did.
  void WaitFor(const Step& step, uint64_t number);
  void End(absl::Status status);

  const CallEnvironment environment_;
  AsyncCall::Parcel parcel_;
  const std::unique_ptr<google::protobuf::MessageLite> request_;
  const CallInput input_;
  const std::shared_ptr<void> keeper_;
  InFlightCalls::Entry entry_;
  bool entered_ = false;

  PlainMutex wait_mutex_;
  CallWait wait_;
  uint64_t latest_wait_ ABSL_GUARDED_BY(wait_mutex_) = 0;

  PlainMutex mutex_;
  CallSession session_ ABSL_GUARDED_BY(mutex_);
  uint64_t steps_ ABSL_GUARDED_BY(mutex_) = 0;
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;  // the latest step was kWait
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::InlinedVector<std::shared_ptr<Attempt>, 2> in_flight_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_INVOKER_HEDGED_CALL_H_
