// The part of the key table below outlier and slowStart.
#ifndef MARPC_CONFIG_OUTLIER_KEYS_H_
#define MARPC_CONFIG_OUTLIER_KEYS_H_

#include <vector>

#include "marpc/config/keys.h"

namespace marpc {

std::vector<Key> OutlierKeys();

}  // namespace marpc

#endif  // MARPC_CONFIG_OUTLIER_KEYS_H_
