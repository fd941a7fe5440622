// Runs functions at given times, on one thread of its own: backoffs and deadlines of asynchronous
// calls.
#ifndef MARPC_BASE_TIMER_QUEUE_H_
#define MARPC_BASE_TIMER_QUEUE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "marpc/base/clock.h"

namespace marpc {

// Thread-safe. The thread starts with the first timer.
class TimerQueue {
 public:
  using TimerId = uint64_t;

  explicit TimerQueue(const Clock& clock = Clock::Real());
  // As Stop().
  ~TimerQueue();

  // Runs `fire` once at `when`, or soon after. After Stop() it is dropped.
  TimerId At(MonotonicTime when, absl::AnyInvocable<void()> fire);

  // True when the timer was taken back; false when it has run, runs now, or never was.
  bool Cancel(TimerId id);

  // Drops what has not run and joins the thread; from a timer's own function, lets the thread end
  // by itself.
  void Stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace marpc

#endif  // MARPC_BASE_TIMER_QUEUE_H_
