#include "marpc/invoker/blocking_call.h"

#include <memory>
#include <utility>

#include "marpc/base/wake_up.h"
#include "marpc/invoker/attempt_request.h"
#include "marpc/invoker/connected_instance.h"
#include "marpc/invoker/guarded_step.h"

namespace marpc {
namespace {

// Woken by a cancellation, by an answer, or by time. Shared, since an answer may come when nobody
// waits any more.
struct WakeOnCancel final : WakeUp, CancelSignal::Observer {
  void OnCancel() override { Wake(); }
};

// Until the time, a cancellation or, if there is one, the answer.
void Wait(MonotonicTime until, PendingAnswer* answer, CancelSignal& cancel, const Clock& clock) {
  const auto wakeup = std::make_shared<WakeOnCancel>();
  if (!cancel.Attach(wakeup.get())) return;
  PendingAnswer::Ticket ticket = 0;
  if (answer != nullptr) ticket = answer->WhenSettled([wakeup] { wakeup->Wake(); });
  wakeup->WaitFor(until - clock.Now());
  if (answer != nullptr) answer->Forget(ticket);
  cancel.Detach(wakeup.get());
}

Step RunToEnd(CallSession& session, const CallInput& input, const Metadata& metadata,
              CancelSignal& cancel, const Clock& clock, TimerQueue& timers) {
  RandomSource& random = RandomSource::OfThisThread();
  const auto moment = [&] { return Moment{clock.Now(), random}; };
  Step step = session.Start(moment());
  while (step.kind != Step::Kind::kDone) {
    if (step.kind == Step::Kind::kWait) {
      // The call that fetches the answer may need a timer to go on, perhaps of this very thread.
      if (step.pending != nullptr) timers.HandOver();
      Wait(step.deadline, step.pending.get(), cancel, clock);
      step = session.OnWaited(moment());
      continue;
    }
    AttemptOutcome outcome = static_cast<ConnectedInstance*>(step.instance)
                                 ->connection()
                                 .Call(RequestOf(input, step, metadata, cancel));
    step = session.OnAttemptDone(step.attempt, std::move(outcome), moment());
  }
  return step;
}

}  // namespace

absl::Status RunBlocking(CallSession& session, const CallInput& input, const Metadata& metadata,
                         CancelSignal& cancel, const Clock& clock, TimerQueue& timers) {
  try {
    return RunToEnd(session, input, metadata, cancel, clock, timers).status;
  } catch (...) {
    return EndOfThrow(*input.method).status;
  }
}

}  // namespace marpc
