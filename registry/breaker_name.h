// The name of a circuit breaker, as operators give it.
#ifndef MARPC_REGISTRY_BREAKER_NAME_H_
#define MARPC_REGISTRY_BREAKER_NAME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace marpc {

// The name as consumers have it: with the endpoint as Endpoint writes it. InvalidArgument for an
// empty method, and for an endpoint that is none.
//
//   demo.HelloService/Hello@10.0.0.7:08080   demo.HelloService/Hello@10.0.0.7:8080
absl::StatusOr<std::string> ParseBreakerName(absl::string_view name);

}  // namespace marpc

#endif  // MARPC_REGISTRY_BREAKER_NAME_H_
