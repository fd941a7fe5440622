// The part of the key table below alerts.
#ifndef MARPC_CONFIG_ALERT_KEYS_H_
#define MARPC_CONFIG_ALERT_KEYS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "marpc/config/keys.h"

namespace marpc {

std::vector<Key> AlertKeys();

// http:// or https:// and a host, and nothing that a URL cannot have.
bool IsWebUrl(absl::string_view url);

}  // namespace marpc

#endif  // MARPC_CONFIG_ALERT_KEYS_H_
