// The latest calls of a breaker, counted: of a time (TimeWindow) or of a number (CountWindow).
#ifndef MARPC_CIRCUITBREAKER_RATE_WINDOW_H_
#define MARPC_CIRCUITBREAKER_RATE_WINDOW_H_

#include <cstdint>
#include <memory>

#include "marpc/base/clock.h"
#include "marpc/circuitbreaker/call_counts.h"
#include "marpc/config/breaker_settings.h"

namespace marpc {

// Thread-safe; takes no lock and allocates nothing. `period` tells the calls of one closed period
// of the breaker from those of the next: what is recorded for an earlier one does not count, so
// that a result which comes just as the breaker opens is not found in the next window.
class RateWindow {
 public:
  virtual ~RateWindow() = default;
  // Empties it. By one thread at a time, before anything is recorded for that period.
  virtual void StartPeriod(uint32_t period) = 0;
  // One call has ended, or hangs already for too long.
  virtual void Record(uint32_t period, bool failed, bool slow, MonotonicTime now) = 0;
  // A call that was recorded as slow while it hung has now failed.
  virtual void MarkFailed(uint32_t period, MonotonicTime now) = 0;
  virtual CallCounts Counts(uint32_t period, MonotonicTime now) const = 0;
  // False when no call in the window can have been bad; true does not mean that one was.
  virtual bool AnyBad(uint32_t period, MonotonicTime now) const = 0;
};

// Null where no rate is judged.
std::unique_ptr<RateWindow> MakeRateWindow(const BreakerRules& rules);

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_RATE_WINDOW_H_
