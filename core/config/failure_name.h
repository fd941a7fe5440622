// The type of keys that list failures.
#ifndef MARPC_CONFIG_FAILURE_NAME_H_
#define MARPC_CONFIG_FAILURE_NAME_H_

#include <string>

#include "marpc/config/value_type.h"

namespace marpc {

// A status code, or a reason that an attempt can fail for.
ValueType<std::string> FailureName();

}  // namespace marpc

#endif  // MARPC_CONFIG_FAILURE_NAME_H_
