// The wait of a call that has no thread of its own: for a time, for another call's answer, or for a
// cancellation, whichever comes first.
#ifndef MARPC_INVOKER_CALL_WAIT_H_
#define MARPC_INVOKER_CALL_WAIT_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/cancel.h"
#include "marpc/base/clock.h"
#include "marpc/base/timer_queue.h"
#include "marpc/filter/pending_answer.h"

namespace marpc {

// Thread-safe. A member of its call; handed about as a pointer that shares the call.
class CallWait final : CancelSignal::Observer {
 public:
  using Self = std::shared_ptr<CallWait>;

  // All of them outlive it.
  CallWait(const Clock& clock, TimerQueue& timers, CancelSignal& cancel)
      : clock_(clock), timers_(timers), cancel_(cancel) {}

  struct For {
    // Infinite: no time.
    MonotonicTime until = MonotonicTime::InfiniteFuture();
    // Null: no answer.
    std::shared_ptr<PendingAnswer> answer;
    // Keeps alive what the call stands on, the timers for one, until Begin() has returned.
    std::shared_ptr<void> keeper;
  };
  // Begins a wait, of which there is one at a time. `wake` runs once when it ends, on the timers'
  // thread. Where the timers are stopped, so that nothing else would end it, the signal is
  // cancelled and `wake` runs on the thread that stops them, or on this one, before Begin()
  // returns.
  static void Begin(Self self, For what, absl::AnyInvocable<void()> wake);
  // Ends the wait without waking. `wake` may be running already.
  void Stop();

 private:
  struct Wait {
    absl::AnyInvocable<void()> wake;
    TimerQueue::TimerId timer = 0;
    std::shared_ptr<PendingAnswer> answer;
    PendingAnswer::Ticket ticket = 0;
  };
  // Ends wait `number`; null when it is on no more.
  std::unique_ptr<Wait> End(uint64_t number);
  static void Wake(const Self& self, uint64_t number, bool dropped);
  void OnCancel() override;

  const Clock& clock_;
  TimerQueue& timers_;
  CancelSignal& cancel_;
  absl::Mutex mutex_;
  uint64_t number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Wait> wait_ ABSL_GUARDED_BY(mutex_);
  std::weak_ptr<CallWait> self_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_INVOKER_CALL_WAIT_H_
