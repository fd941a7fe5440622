#include "marpc/circuitbreaker/breaker_state.h"

namespace marpc {

absl::string_view BreakerStateName(BreakerState state) {
  switch (state) {
    case BreakerState::kClosed:
      return "CLOSED";
    case BreakerState::kOpen:
      return "OPEN";
    case BreakerState::kHalfOpen:
      return "HALF_OPEN";
    case BreakerState::kForcedOpen:
      return "FORCED_OPEN";
    case BreakerState::kDisabled:
      return "DISABLED";
    case BreakerState::kMetricsOnly:
      return "METRICS_ONLY";
  }
  return "UNKNOWN";
}

absl::string_view BreakerReasonName(BreakerReason reason) {
  switch (reason) {
    case BreakerReason::kNone:
      return "none";
    case BreakerReason::kFaultLimit:
      return "faultLimit";
    case BreakerReason::kConsecutiveFailures:
      return "consecutiveFailures";
    case BreakerReason::kFailureRate:
      return "failureRate";
    case BreakerReason::kSlowCallRate:
      return "slowCallRate";
    case BreakerReason::kFailedCalls:
      return "failedCalls";
    case BreakerReason::kProbesFailed:
      return "probesFailed";
    case BreakerReason::kUndecided:
      return "undecided";
    case BreakerReason::kShared:
      return "shared";
    case BreakerReason::kWaitOver:
      return "waitOver";
    case BreakerReason::kProbesSucceeded:
      return "probesSucceeded";
    case BreakerReason::kForced:
      return "forced";
    case BreakerReason::kReset:
      return "reset";
  }
  return "unknown";
}

}  // namespace marpc
