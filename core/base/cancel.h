// Tells the parts of a call that its caller is no longer interested.
#ifndef MARPC_BASE_CANCEL_H_
#define MARPC_BASE_CANCEL_H_

#include <algorithm>
#include <atomic>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "marpc/base/plain_mutex.h"

namespace marpc {

// One call's cancellation. Thread-safe.
//
// At most one observer at a time is told: the part of the call that is waiting now (an attempt, a
// backoff).
class CancelSignal {
 public:
  class Observer {
   public:
    virtual ~Observer() = default;
    // Called on the cancelling thread, once at most an attachment, under the signal's lock: must
    // only set things in motion, and not call the signal.
    virtual void OnCancel() = 0;
  };

  // Idempotent.
  void Cancel() {
    PlainMutexLock lock(&mutex_);
    if (cancelled_.exchange(true)) return;
    for (Observer* observer : observers_) observer->OnCancel();
  }
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

  // False, and nothing attached, when the signal is cancelled already.
  [[nodiscard]] bool Attach(Observer* observer) {
    PlainMutexLock lock(&mutex_);
    if (cancelled()) return false;
    observers_.push_back(observer);
    return true;
  }
  // When this returns, OnCancel() neither runs nor will run.
  void Detach(Observer* observer) {
    PlainMutexLock lock(&mutex_);
    const auto it = std::find(observers_.begin(), observers_.end(), observer);
    if (it != observers_.end()) observers_.erase(it);
  }

 private:
  PlainMutex mutex_;
  std::atomic<bool> cancelled_{false};
  absl::InlinedVector<Observer*, 1> observers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_BASE_CANCEL_H_
