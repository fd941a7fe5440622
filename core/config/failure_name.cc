#include "marpc/config/failure_name.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "marpc/base/error.h"

namespace marpc {

ValueType<std::string> FailureName() {
  std::vector<std::string> names;
  for (int code = 1; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    names.push_back(absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
  }
  for (const absl::string_view reason :
       {reason::kConnection, reason::kDeadline, reason::kOverloaded, reason::kRateLimited,
        reason::kMessageTooLarge, reason::kBadMessage, reason::kHandler, reason::kPeerStatus}) {
    names.emplace_back(reason);
  }
  ValueType<std::string> type{"status code or reason", "a status code or reason", nullptr, nullptr};
  type.read = [names](const YamlNode& node, ReadContext& context, std::string* target) {
    return ReadKnownName(node, context, names, target);
  };
  type.show = [](const std::string& name) { return name; };
  return type;
}

}  // namespace marpc
