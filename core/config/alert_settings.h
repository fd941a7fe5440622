// Whom a consumer tells of breakers, ejections and health checks; docs/guide/alerts.md explains it
// key by key.
#ifndef MARPC_CONFIG_ALERT_SETTINGS_H_
#define MARPC_CONFIG_ALERT_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace marpc {

// What is told.
struct AlertEvents {
  bool breaker_open = true;
  bool breaker_close = false;
  bool ejected = false;
  bool readmitted = false;
  bool unhealthy = false;
  bool healthy = false;

  friend bool operator==(const AlertEvents&, const AlertEvents&) = default;
};

struct AlertSettings {
  AlertEvents on;
  // http:// or https://. Empty: nothing is posted.
  std::string webhook_url;
  // Signs what is posted. Empty: no signature. Never logged.
  std::string webhook_secret;
  // A program and its arguments, run without a shell. Empty: none is run.
  std::vector<std::string> command;
  // At most one alert of a kind about one subject in so long.
  absl::Duration min_interval = absl::Seconds(60);
  // What posting one, or running the command, may take.
  absl::Duration timeout = absl::Seconds(3);
};

}  // namespace marpc

#endif  // MARPC_CONFIG_ALERT_SETTINGS_H_
