// What outlier ejection knows and tells of an instance.
#ifndef MARPC_OUTLIER_EJECTION_H_
#define MARPC_OUTLIER_EJECTION_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"

namespace marpc {

enum class EjectionReason : uint8_t {
  kNone,
  kConsecutiveErrors,
  kErrorRate,
  kSuccessRate,
  kFailurePercentage,
  kLatency,
};
inline constexpr int kEjectionReasons = 6;
// none, consecutiveErrors, errorRate ...: as in outlier.ejectOn
absl::string_view EjectionReasonName(EjectionReason reason);

struct Ejection {
  bool ejected = false;
  EjectionReason reason = EjectionReason::kNone;  // of the last time
  MonotonicTime since;                            // likewise
  // When the last one was, or is, due to end; it ends in the first look after that.
  MonotonicTime until;
  // How many times outlier.baseEjectionTime the last one lasts; one less for each interval since.
  int multiplier = 0;
};

// An instance's calls since the last look.
struct IntervalCalls {
  int64_t calls = 0;
  int64_t failures = 0;
  // Those whose time counts, and how long they took together. An attempt that failed at once says
  // nothing of the time that an answer takes; one that was not answered in time does.
  int64_t timed = 0;
  absl::Duration latency;
};

struct EjectionEvent {
  std::string instance;  // its endpoint
  bool ejected = false;  // false: used again
  EjectionReason reason = EjectionReason::kNone;
  MonotonicTime at;     // an end is when the look was due that ended it
  MonotonicTime until;  // of an ejection
  int multiplier = 0;
};

}  // namespace marpc

#endif  // MARPC_OUTLIER_EJECTION_H_
