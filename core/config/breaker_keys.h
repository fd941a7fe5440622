// The part of the key table below `circuitbreaker`; included by the table alone.
#ifndef MARPC_CONFIG_BREAKER_KEYS_H_
#define MARPC_CONFIG_BREAKER_KEYS_H_

#include <vector>

#include "marpc/config/keys.h"

namespace marpc {

std::vector<Key> BreakerKeys();

}  // namespace marpc

#endif  // MARPC_CONFIG_BREAKER_KEYS_H_
