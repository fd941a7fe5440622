#include "marpc/circuitbreaker/refusal.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/time_util.h"
#include "marpc/base/error.h"

namespace marpc {

absl::string_view ReasonOf(BreakerRefusal refusal) {
  return refusal == BreakerRefusal::kRampUp ? reason::kCircuitBreakerRampUp
                                            : reason::kCircuitBreakerOpen;
}

std::string InWords(const CircuitBreaker::Admission& refused) {
  switch (refused.refusal) {
    case BreakerRefusal::kRampUp:
      return "is closed again, and does not let all calls through yet";
    case BreakerRefusal::kProbing:
      return "is HALF_OPEN; a probe is on its way";
    case BreakerRefusal::kForcedOpen:
      return "is FORCED_OPEN, by an operator or by circuitbreaker.initialState, until one closes "
             "it";
    default:
      return absl::StrCat("is OPEN; a probe is let through in ",
                          absl::FormatDuration(refused.retry_after));
  }
}

absl::Status RefusalStatus(absl::string_view operation, const CircuitBreaker::Admission& refused) {
  absl::Status error = FrameworkError(
      absl::StatusCode::kUnavailable, ReasonOf(refused.refusal),
      absl::StrCat(operation, " was not attempted: the circuit breaker ", InWords(refused)));
  if (refused.retry_after > absl::ZeroDuration()) {
    ErrorInfo info = *GetErrorInfo(error);
    *info.mutable_retry_after() = google::protobuf::util::TimeUtil::NanosecondsToDuration(
        absl::ToInt64Nanoseconds(refused.retry_after));
    SetErrorInfo(error, info);
  }
  return error;
}

}  // namespace marpc
