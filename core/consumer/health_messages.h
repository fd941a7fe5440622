// How a consumer speaks of health checks.
#ifndef MARPC_CONSUMER_HEALTH_MESSAGES_H_
#define MARPC_CONSUMER_HEALTH_MESSAGES_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "marpc/health/breaker_probes.h"
#include "marpc/health/health_checker.h"

namespace marpc {

// Log what the checks of the service find, and tell `own`, which may be null.
HealthListeners TellOfHealth(std::string service,
                             std::function<void(absl::string_view, const HealthEvent&)> own);

// Logs that an instance of the service, whose breaker is to be probed, cannot be asked.
BreakerProbes::OnNotSupported TellOfProbes(std::string service);

}  // namespace marpc

#endif  // MARPC_CONSUMER_HEALTH_MESSAGES_H_
