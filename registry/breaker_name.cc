#include "marpc/registry/breaker_name.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "marpc/base/endpoint.h"
#include "marpc/config/faults.h"

namespace marpc {

absl::StatusOr<std::string> ParseBreakerName(absl::string_view name) {
  const size_t at = name.find('@');
  const absl::string_view of = name.substr(0, at);
  if (absl::EndsWith(of, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("breaker ", Quote(name), " names no method after the '/'"));
  }
  if (at == absl::string_view::npos) return std::string(name);
  const absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(name.substr(at + 1));
  if (!endpoint.ok()) return endpoint.status();
  return absl::StrCat(of, "@", endpoint->ToString());
}

}  // namespace marpc
