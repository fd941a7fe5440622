// The part of the key table below alerts.
#ifndef MARPC_CONFIG_ALERT_KEYS_H_
#define MARPC_CONFIG_ALERT_KEYS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "marpc/config/keys.h"

namespace marpc {

std::vector<Key> AlertKeys();

// http:// or https://, a host and perhaps a port, and nothing that a URL cannot have.
bool IsWebUrl(absl::string_view url);
// What was expected of one that is not, for messages.
inline constexpr absl::string_view kWebUrl =
    "a URL such as https://host/path: http or https, a host, no blanks";

// False where the first item, the program, is empty.
bool NamesProgram(const std::vector<std::string>& command);

}  // namespace marpc

#endif  // MARPC_CONFIG_ALERT_KEYS_H_
