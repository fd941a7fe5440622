// Methods and services by the names that people give them.
#ifndef MARPC_CONSUMER_METHOD_LOOKUP_H_
#define MARPC_CONSUMER_METHOD_LOOKUP_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "marpc/base/method.h"
#include "marpc/config/settings.h"

namespace marpc {

// "demo.HelloService/Hello", as the descriptors linked into this process, the clients made so far
// or the settings know it. NotFound names the nearest one, or those that there are.
absl::StatusOr<Method> LookUpMethod(absl::string_view name, const Settings& settings);

// NotFound, with the nearest name, for a service that this process knows as little.
absl::Status CheckService(absl::string_view service, const Settings& settings);

}  // namespace marpc

#endif  // MARPC_CONSUMER_METHOD_LOOKUP_H_
