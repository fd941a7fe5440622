// What operators say about a service for the whole cluster: a few words by key, kept by the
// registry until somebody takes them back, and told to every consumer with the service's list.
//
//   level                       normal, degraded, core-only
//   breaker:demo.HelloService   FORCED_OPEN, DISABLED, METRICS_ONLY
//
// A breaker is named as in Consumer::Breakers(). The registry keeps any key and value; what
// consumers do not know they warn of, and leave alone.
#ifndef MARPC_REGISTRY_DIRECTIVES_H_
#define MARPC_REGISTRY_DIRECTIVES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace marpc {

using Directives = std::map<std::string, std::string>;

inline constexpr char kLevelDirective[] = "level";
inline constexpr char kBreakerDirective[] = "breaker:";  // and the breaker's name

// The longest document that holds the directives of one service.
inline constexpr size_t kMaxDirectivesBytes = 64 << 10;

// What consumers of `service` understand; InvalidArgument says what is allowed, with the nearest
// where something comes near. The value is not empty.
absl::Status CheckUnderstood(absl::string_view service, absl::string_view key,
                             absl::string_view value);

// The service that a breaker belongs to: demo.HelloService of
// "demo.HelloService/Hello@10.0.0.7:80".
absl::string_view ServiceOfBreaker(absl::string_view breaker);

// --- for registries

// InvalidArgument for a key or a value that no registry can hold: an empty key, control characters,
// text that is not UTF-8.
absl::Status CheckDirective(absl::string_view key, absl::string_view value);

// The document: protobuf JSON of marpc.DirectivesRecord. InvalidArgument where it is too long.
absl::StatusOr<std::string> DirectivesToJson(const Directives& directives);
// InvalidArgument says what is wrong with it; fields that this version does not know are ignored.
absl::StatusOr<Directives> ParseDirectives(absl::string_view json);

// Sets a directive, or removes it where `value` is empty. False: it was so already.
bool ApplyDirective(Directives& directives, const std::string& key, const std::string& value);

}  // namespace marpc

#endif  // MARPC_REGISTRY_DIRECTIVES_H_
