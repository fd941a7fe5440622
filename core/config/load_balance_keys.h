// The part of the key table below loadBalance, and what is said of keys there that do nothing.
#ifndef MARPC_CONFIG_LOAD_BALANCE_KEYS_H_
#define MARPC_CONFIG_LOAD_BALANCE_KEYS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "marpc/config/keys.h"

namespace marpc {

std::vector<Key> LoadBalanceKeys();

// Numbers of balancers that are not chosen, a hash without a key, zones without a place of one's
// own. What `service` has from `parent` was told there. `zone` is provider.zone.
void WarnOfIdleBalancing(absl::string_view where, const ServiceSettings& service,
                         const ServiceSettings& parent, const std::string& zone,
                         std::vector<std::string>& warnings);

}  // namespace marpc

#endif  // MARPC_CONFIG_LOAD_BALANCE_KEYS_H_
