// Runs functions at given times, on one thread of its own: backoffs and deadlines of asynchronous
// calls.
#ifndef MARPC_BASE_TIMER_QUEUE_H_
#define MARPC_BASE_TIMER_QUEUE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "marpc/base/clock.h"

namespace marpc {

// Thread-safe. The thread starts with the first timer.
class TimerQueue {
 public:
  using TimerId = uint64_t;
  // May throw std::system_error, as std::thread does.
  using ThreadStarter = std::function<std::thread(std::function<void()> run)>;

  explicit TimerQueue(const Clock& clock = Clock::Real(), ThreadStarter start_thread = nullptr);
  // As Stop().
  ~TimerQueue();

  // Starts the thread if it does not run yet: for those who must know that their timers will run.
  // ResourceExhausted when the system gives no thread. After Stop(), nothing.
  absl::Status Start();

  // Runs `fire` once at `when`, or soon after. Dropped (and 0) after Stop(), and where no thread
  // can be started.
  TimerId At(MonotonicTime when, absl::AnyInvocable<void()> fire);

  // True when the timer was taken back; false when it has run, runs now, or never was.
  bool Cancel(TimerId id);

  // For a timer's own function that is about to wait for what other timers do: another thread goes
  // on with them, and this one ends when the function returns. Elsewhere, nothing.
  void HandOver();

  // Drops what has not run and joins the thread; from a timer's own function, lets the thread end
  // by itself.
  void Stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace marpc

#endif  // MARPC_BASE_TIMER_QUEUE_H_
