// Waiting of a thread for another one, or for a time.
//
// Abseil's waits with a time limit end by the wall clock (CLOCK_REALTIME): where that is set back
// by an hour, they last an hour longer. These end by the monotonic clock, as marpc's times do.
#ifndef MARPC_BASE_WAKE_UP_H_
#define MARPC_BASE_WAKE_UP_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "marpc/base/plain_mutex.h"

namespace marpc {

// Waits for `changed`, for at most `timeout`; it may return earlier, so look again. `mutex` is
// held.
inline void WaitForChange(std::condition_variable_any& changed, PlainMutex& mutex,
                          absl::Duration timeout) {
  // Far below what the system's time can hold.
  const absl::Duration slice = std::min(timeout, absl::Hours(1));
  changed.wait_until(mutex, std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(slice));
}

// Thread-safe. Once woken it stays so.
class WakeUp {
 public:
  void Wake() {
    PlainMutexLock lock(&mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  // Until Wake(), or for at most `timeout`; infinite: without a limit. True when it was woken.
  bool WaitFor(absl::Duration timeout) {
    const auto start = std::chrono::steady_clock::now();
    PlainMutexLock lock(&mutex_);
    while (!woken_) {
      const absl::Duration left =
          timeout - absl::FromChrono(std::chrono::steady_clock::now() - start);
      if (left <= absl::ZeroDuration()) return false;
      WaitForChange(changed_, mutex_, left);
    }
    return true;
  }

 private:
  PlainMutex mutex_;
  std::condition_variable_any changed_;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace marpc

#endif  // MARPC_BASE_WAKE_UP_H_
