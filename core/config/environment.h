// `${NAME}` and `${NAME:default}` in values.
#ifndef MARPC_CONFIG_ENVIRONMENT_H_
#define MARPC_CONFIG_ENVIRONMENT_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace marpc {

// The value of an environment variable; none when it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

// Of this process.
std::optional<std::string> ProcessEnvironment(const std::string& name);

// Replaces `${NAME}` by the variable's value and `${NAME:default}` by that or the default; `$$`
// stands for one `$`. A variable that is set to nothing is set. InvalidArgument for one that is not
// set and has no default, and for a `${` that is not well formed; the message never quotes `text`
// beyond the variable's name, since it may be a secret.
absl::StatusOr<std::string> ExpandEnvironment(absl::string_view text,
                                              const EnvironmentLookup& environment);

}  // namespace marpc

#endif  // MARPC_CONFIG_ENVIRONMENT_H_
