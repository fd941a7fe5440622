#include "marpc/consumer/ejection_messages.h"

#include <utility>

#include "absl/time/time.h"
#include "marpc/base/user_code.h"
#include "marpc/observe/log.h"

namespace marpc {

std::function<void(const EjectionEvent&)> TellOf(
    std::string service, std::function<void(absl::string_view, const EjectionEvent&)> own) {
  return [service = std::move(service), own = std::move(own)](const EjectionEvent& event) {
    const std::string reason(EjectionReasonName(event.reason));
    if (event.ejected) {
      Logger()->warn("event=ejected service={} instance={} reason={} for={} multiplier={}", service,
                     event.instance, reason, absl::FormatDuration(event.until - event.at),
                     event.multiplier);
    } else {
      Logger()->info("event=readmitted service={} instance={} was={}", service, event.instance,
                     reason);
    }
    if (own == nullptr) return;
    try {
      own(service, event);
    } catch (...) {
      Logger()->error("event=ejection_listener_threw service={} what=\"{}\"", service,
                      WhatWasThrown());
    }
  };
}

}  // namespace marpc
