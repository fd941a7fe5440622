// Active health checks: whether instances are asked how they are, apart from what their calls say;
// docs/guide/circuit-breaking.md explains it key by key.
#ifndef MARPC_CONFIG_HEALTH_SETTINGS_H_
#define MARPC_CONFIG_HEALTH_SETTINGS_H_

#include <optional>
#include <string>

#include "absl/time/time.h"

namespace marpc {

struct HealthCheckSettings {
  bool enabled = false;
  // From the end of a check to the next one of the same instance, give or take a tenth of it.
  absl::Duration interval = absl::Seconds(10);
  // A check without an answer by then has failed.
  absl::Duration timeout = absl::Seconds(1);
  // So many failed checks in a row, and calls avoid the instance; so many good ones, and they
  // return.
  int unhealthy_threshold = 2;
  int healthy_threshold = 1;
  // What is asked about. Unset: the service itself; empty: the server as a whole.
  std::optional<std::string> service;
};

}  // namespace marpc

#endif  // MARPC_CONFIG_HEALTH_SETTINGS_H_
