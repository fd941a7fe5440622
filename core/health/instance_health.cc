#include "marpc/health/instance_health.h"

namespace marpc {

absl::string_view HealthAnswerName(HealthAnswer answer) {
  switch (answer) {
    case HealthAnswer::kNone:
      return "NONE";
    case HealthAnswer::kServing:
      return "SERVING";
    case HealthAnswer::kNotServing:
      return "NOT_SERVING";
    case HealthAnswer::kNotSupported:
      return "NOT_SUPPORTED";
    case HealthAnswer::kNoAnswer:
      return "NO_ANSWER";
    case HealthAnswer::kError:
      return "ERROR";
  }
  return "?";
}

bool OnChecked(InstanceHealth& health, const HealthProbe::Result& result,
               const HealthCheckSettings& settings, MonotonicTime now) {
  if (result.answer == HealthAnswer::kNone) return false;
  health.answer = result.answer;
  health.status = result.status;
  health.checked_at = now;
  const bool good = Good(result.answer);
  health.failures_in_row = good ? 0 : health.failures_in_row + 1;
  health.successes_in_row = good ? health.successes_in_row + 1 : 0;
  if (good == health.healthy) return false;
  const bool enough = good ? health.successes_in_row >= settings.healthy_threshold
                           : health.failures_in_row >= settings.unhealthy_threshold;
  if (!enough) return false;
  health.healthy = good;
  health.since = now;
  return true;
}

}  // namespace marpc
