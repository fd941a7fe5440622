// The part of the key table below `retry`; included by the table alone.
#ifndef MARPC_CONFIG_RETRY_KEYS_H_
#define MARPC_CONFIG_RETRY_KEYS_H_

#include <vector>

#include "marpc/config/keys.h"

namespace marpc {

std::vector<Key> RetryKeys();

}  // namespace marpc

#endif  // MARPC_CONFIG_RETRY_KEYS_H_
