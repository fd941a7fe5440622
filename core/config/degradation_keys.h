// The keys below `degradation`.
#ifndef MARPC_CONFIG_DEGRADATION_KEYS_H_
#define MARPC_CONFIG_DEGRADATION_KEYS_H_

#include <vector>

#include "marpc/config/keys.h"

namespace marpc {

std::vector<Key> DegradationKeys();

}  // namespace marpc

#endif  // MARPC_CONFIG_DEGRADATION_KEYS_H_
