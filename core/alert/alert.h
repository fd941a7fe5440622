// What somebody is told of: that a breaker opened, that an instance was ejected.
#ifndef MARPC_ALERT_ALERT_H_
#define MARPC_ALERT_ALERT_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace marpc {

struct Alert {
  std::string event;    // as in alerts.on
  std::string subject;  // a breaker's name, or service@instance
  std::string reason;   // as in the log
};

// Of the process that tells.
struct AlertSource {
  std::string app;
  std::string env;
};

// What is sent: one line of JSON. `left_out`: alerts of that kind and subject since the last one
// that the interval kept back; `dropped`: alerts of all kinds that were never sent.
std::string AlertJson(const Alert& alert, const AlertSource& source, absl::Time at,
                      uint64_t left_out, uint64_t dropped);

}  // namespace marpc

#endif  // MARPC_ALERT_ALERT_H_
