#include "marpc/outlier/ejection.h"

namespace marpc {

absl::string_view EjectionReasonName(EjectionReason reason) {
  switch (reason) {
    case EjectionReason::kNone:
      return "none";
    case EjectionReason::kConsecutiveErrors:
      return "consecutiveErrors";
    case EjectionReason::kErrorRate:
      return "errorRate";
    case EjectionReason::kSuccessRate:
      return "successRate";
    case EjectionReason::kFailurePercentage:
      return "failurePercentage";
    case EjectionReason::kLatency:
      return "latency";
  }
  return "?";
}

}  // namespace marpc
