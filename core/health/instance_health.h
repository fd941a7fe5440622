// What health checks know and tell of an instance, and the rules by which that changes.
#ifndef MARPC_HEALTH_INSTANCE_HEALTH_H_
#define MARPC_HEALTH_INSTANCE_HEALTH_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "marpc/base/clock.h"
#include "marpc/config/health_settings.h"
#include "marpc/health/health_probe.h"

namespace marpc {

struct InstanceHealth {
  bool healthy = true;                        // until it was found otherwise
  MonotonicTime since;                        // of that
  HealthAnswer answer = HealthAnswer::kNone;  // the last
  absl::Status status;                        // of the request that brought it
  MonotonicTime checked_at;                   // when it came
  int failures_in_row = 0;
  int successes_in_row = 0;
};

// Takes in what a check has brought. True when the instance is healthy now and was not, or the
// other way round.
bool OnChecked(InstanceHealth& health, const HealthProbe::Result& result,
               const HealthCheckSettings& settings, MonotonicTime now);

struct HealthEvent {
  std::string instance;  // its endpoint
  bool healthy = false;
  HealthAnswer answer = HealthAnswer::kNone;  // kNone: another process is in its place
  absl::Status status;
  int failures_in_row = 0;
  MonotonicTime at;
};

}  // namespace marpc

#endif  // MARPC_HEALTH_INSTANCE_HEALTH_H_
