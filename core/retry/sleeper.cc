#include "marpc/retry/sleeper.h"

#include "marpc/base/wake_up.h"

namespace marpc {
namespace {

struct WakeOnCancel final : WakeUp, CancelSignal::Observer {
  void OnCancel() override { Wake(); }
};

class RealSleeper final : public Sleeper {
 public:
  void SleepUntil(MonotonicTime until, CancelSignal* cancel) override {
    const absl::Duration wait = until - Clock::Real().Now();
    WakeOnCancel wake_up;
    if (cancel != nullptr && !cancel->Attach(&wake_up)) return;
    wake_up.WaitFor(wait);
    if (cancel != nullptr) cancel->Detach(&wake_up);
  }
};

}  // namespace

Sleeper& Sleeper::Real() {
  static Sleeper& sleeper = *new RealSleeper;  // as long as Clock::Real()
  return sleeper;
}

}  // namespace marpc
