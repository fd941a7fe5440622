// The part of the key table below healthCheck.
#ifndef MARPC_CONFIG_HEALTH_KEYS_H_
#define MARPC_CONFIG_HEALTH_KEYS_H_

#include <vector>

#include "marpc/config/keys.h"

namespace marpc {

std::vector<Key> HealthKeys();

}  // namespace marpc

#endif  // MARPC_CONFIG_HEALTH_KEYS_H_
