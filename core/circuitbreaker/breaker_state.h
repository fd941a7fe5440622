// The states of a circuit breaker, and why it changes them.
#ifndef MARPC_CIRCUITBREAKER_BREAKER_STATE_H_
#define MARPC_CIRCUITBREAKER_BREAKER_STATE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace marpc {

enum class BreakerState : uint8_t {
  kClosed,
  kOpen,
  kHalfOpen,
  // An operator's; left by Reset() or Force() alone.
  kForcedOpen,   // lets nothing through
  kDisabled,     // lets everything through and counts nothing
  kMetricsOnly,  // lets everything through and counts
};
absl::string_view BreakerStateName(BreakerState state);  // CLOSED, OPEN, HALF_OPEN, FORCED_OPEN ...

enum class BreakerReason : uint8_t {
  kNone,
  // It opened, by BreakerRules::trip_on
  kFaultLimit,
  kConsecutiveFailures,
  kFailureRate,
  kSlowCallRate,
  kFailedCalls,
  // ... by its probes
  kProbesFailed,
  kUndecided,  // half_open_time_limit is over
  // ... by what others met: OpenByOthers()
  kShared,
  // It half-opened, or closed without probes
  kWaitOver,
  // It closed
  kProbesSucceeded,
  // Somebody said so
  kForced,
  kReset,
};
absl::string_view BreakerReasonName(BreakerReason reason);  // faultLimit, probesFailed, ...

// Why a call was not let through.
enum class BreakerRefusal : uint8_t {
  kNone,
  kOpen,
  kProbing,  // HALF_OPEN, and its probes are out
  kRampUp,   // CLOSED again, but not for all calls yet
  kForcedOpen,
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_BREAKER_STATE_H_
