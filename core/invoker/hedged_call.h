// Drives a call that may have several attempts in flight: an attempt that is not answered in time
// gets company, the first answer wins, the others are cancelled.
#ifndef MARPC_INVOKER_HEDGED_CALL_H_
#define MARPC_INVOKER_HEDGED_CALL_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
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
  ~HedgedCall();

 private:
  // Each attempt fills a reply of its own and can be cancelled on its own.
  struct Attempt {
    int number = 0;
    std::unique_ptr<google::protobuf::MessageLite> reply;
    CancelSignal cancel;
  };

  // Something has happened. The thread that finds the call idle handles it, and whatever else
  // happens meanwhile; another one leaves it to that thread and does not wait: the session runs
  // code of the user's, and threads of the transport and of the timers come here.
  void Post(absl::AnyInvocable<void()> event);
  // The functions from here on are events, or parts of them: they run one at a time, unlocked.
  // Goes on with the step that `take` answers.
  template <typename TakeStep>
  void Go(TakeStep take);
  void Take(Step step);
  void OnAttemptDone(Attempt& attempt, AttemptOutcome outcome);
  // What the latest wait was for has come, unless something else came first.
  void OnWake(uint64_t step);
  void Begin(const Step& step);
  // Waits for what the latest step asks for, instead of what the steps before it did.
  void WaitFor(const Step& step);
  void End(absl::Status status);
  void Leave();
  Moment Now() const { return {environment_.clock.Now(), RandomSource::OfThisThread()}; }

  const CallEnvironment environment_;
  AsyncCall::Parcel parcel_;
  const std::unique_ptr<google::protobuf::MessageLite> request_;
  const CallInput input_;
  const std::shared_ptr<void> keeper_;
  InFlightCalls::Entry entry_;
  bool entered_ = false;

  PlainMutex mutex_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // a thread handles events
  std::deque<absl::AnyInvocable<void()>> events_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // what comes now comes too late

  // Of the thread that handles events.
  CallWait wait_;
  std::optional<CallSession> session_;  // none once it has thrown
  uint64_t steps_ = 0;
  bool waiting_ = false;  // the latest step was kWait
  absl::InlinedVector<std::shared_ptr<Attempt>, 2> in_flight_;
};

}  // namespace marpc

#endif  // MARPC_INVOKER_HEDGED_CALL_H_
