// Drives a call without a thread of its own: each step is taken by the thread that brings the news.
#ifndef MARPC_INVOKER_ASYNC_CALL_H_
#define MARPC_INVOKER_ASYNC_CALL_H_

#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "marpc/base/cancel.h"
#include "marpc/base/clock.h"
#include "marpc/base/timer_queue.h"
#include "marpc/invoker/call_session.h"
#include "marpc/invoker/call_wait.h"
#include "marpc/invoker/in_flight_calls.h"
#include "marpc/transport/transport.h"

namespace marpc {

// What all calls of a service share.
struct CallEnvironment {
  const SnapshotCell<ServiceState>& cell;
  const Clock& clock;
  TimerQueue& timers;
  InFlightCalls& in_flight;
};

// Keeps itself alive until it has ended. For calls that are not hedged; see HedgedCall.
class AsyncCall final : public std::enable_shared_from_this<AsyncCall> {
 public:
  // What a call brings along and keeps until its end.
  struct Parcel {
    RpcContext context;
    Metadata metadata;
    std::shared_ptr<CancelSignal> cancel;  // never null
    // Keeps the environment and the messages alive.
    std::shared_ptr<void> keeper;
    // Runs once, last, without a lock.
    absl::AnyInvocable<void(absl::Status)> done;
  };

  // `input` names the method, the messages, the deadline and the report; its context and cancel are
  // the parcel's.
  static void Start(const CallEnvironment& environment, CallInput input, Parcel parcel);

  // Use Start().
  AsyncCall(const CallEnvironment& environment, CallInput input, Parcel parcel);
  ~AsyncCall();

 private:
  // Goes on with the step that `take` answers.
  template <typename Take>
  void Go(Take take);
  void Drive(Step step);
  void Attempt(const Step& step);
  void Wait(const Step& step);
  void End(absl::Status status);
  void Leave();
  Moment Now() const { return {environment_.clock.Now(), RandomSource::OfThisThread()}; }

  const CallEnvironment environment_;
  Parcel parcel_;
  const CallInput input_;
  std::optional<CallSession> session_;  // none once it has thrown
  InFlightCalls::Entry entry_;
  bool entered_ = false;

  CallWait wait_;
};

}  // namespace marpc

#endif  // MARPC_INVOKER_ASYNC_CALL_H_
