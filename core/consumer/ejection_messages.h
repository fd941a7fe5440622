// How a consumer speaks of ejections.
#ifndef MARPC_CONSUMER_EJECTION_MESSAGES_H_
#define MARPC_CONSUMER_EJECTION_MESSAGES_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "marpc/outlier/ejection.h"

namespace marpc {

// Logs each event of the service's instances, and tells `own`, which may be null.
std::function<void(const EjectionEvent&)> TellOf(
    std::string service, std::function<void(absl::string_view, const EjectionEvent&)> own);

}  // namespace marpc

#endif  // MARPC_CONSUMER_EJECTION_MESSAGES_H_
