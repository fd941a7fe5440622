// The keys below `limit` and below `provider.limit`.
#ifndef MARPC_CONFIG_LIMIT_KEYS_H_
#define MARPC_CONFIG_LIMIT_KEYS_H_

#include <vector>

#include "marpc/config/keys.h"

namespace marpc {

std::vector<Key> CallLimitKeys();
std::vector<Key> ProviderLimitKeys();

}  // namespace marpc

#endif  // MARPC_CONFIG_LIMIT_KEYS_H_
