#include "marpc/retry/sleeper.h"

#include "absl/synchronization/mutex.h"

namespace marpc {
namespace {

class Wakeup final : public CancelSignal::Observer {
 public:
  void OnCancel() override {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
  }
  void WaitFor(absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&cancelled_), timeout);
  }

 private:
  absl::Mutex mutex_;
  bool cancelled_ = false;
};

class RealSleeper final : public Sleeper {
 public:
  void SleepUntil(MonotonicTime until, CancelSignal* cancel) override {
    const absl::Duration wait = until - Clock::Real().Now();
    if (cancel == nullptr) return absl::SleepFor(wait);
    Wakeup wakeup;
    if (!cancel->Attach(&wakeup)) return;
    wakeup.WaitFor(wait);
    cancel->Detach(&wakeup);
  }
};

}  // namespace

Sleeper& Sleeper::Real() {
  static Sleeper& sleeper = *new RealSleeper;  // as long as Clock::Real()
  return sleeper;
}

}  // namespace marpc
