#include "marpc/consumer/health_messages.h"

#include <utility>

#include "marpc/base/user_code.h"
#include "marpc/observe/log.h"

namespace marpc {

HealthListeners TellOfHealth(std::string service,
                             std::function<void(absl::string_view, const HealthEvent&)> own) {
  HealthListeners listeners;
  listeners.on_not_supported = [service](const std::string& instance, const absl::Status& status) {
    Logger()->warn(
        "event=health_check_not_supported service={} instance={} code={} what=\"{}\" (such "
        "instances are taken as healthy; it is said once)",
        service, instance, absl::StatusCodeToString(status.code()), std::string(status.message()));
  };
  listeners.on_event = [service = std::move(service), own = std::move(own)](const HealthEvent& e) {
    const std::string answer(HealthAnswerName(e.answer));
    if (e.healthy) {
      Logger()->info("event=healthy service={} instance={} answer={}", service, e.instance, answer);
    } else {
      Logger()->warn(
          "event=unhealthy service={} instance={} answer={} failures={} code={} what=\"{}\"",
          service, e.instance, answer, e.failures_in_row, absl::StatusCodeToString(e.status.code()),
          std::string(e.status.message()));
    }
    if (own == nullptr) return;
    try {
      own(service, e);
    } catch (...) {
      Logger()->error("event=health_listener_threw service={} what=\"{}\"", service,
                      WhatWasThrown());
    }
  };
  return listeners;
}

BreakerProbes::OnNotSupported TellOfProbes(std::string service) {
  return [service = std::move(service)](const std::string& instance, const absl::Status& status) {
    Logger()->warn(
        "event=breaker_probe_not_supported service={} instance={} code={} what=\"{}\" (calls probe "
        "the breakers of such instances; it is said once)",
        service, instance, absl::StatusCodeToString(status.code()), std::string(status.message()));
  };
}

}  // namespace marpc
