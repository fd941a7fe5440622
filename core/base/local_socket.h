// The unix socket that a provider listens on besides its endpoint, for consumers on the same host.
#ifndef MARPC_BASE_LOCAL_SOCKET_H_
#define MARPC_BASE_LOCAL_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "marpc/base/endpoint.h"

namespace marpc {

// The key of Instance::metadata under which its description stands.
inline constexpr char kLocalSocketKey[] = "marpc.localSocket";

// Describes the socket at `path` so that another process can tell whether it sees the same one: the
// machine's boot, the file's device and inode, and the path. FailedPrecondition says what of it
// cannot be known.
absl::StatusOr<std::string> DescribeLocalSocket(const std::string& path);

// The endpoint of the socket that `description` speaks of. NotFound where this host is another one,
// or where something else, or nothing, stands at the path: in a container of its own, say.
// InvalidArgument for text that is no description.
absl::StatusOr<Endpoint> FindLocalSocket(absl::string_view description);

}  // namespace marpc

#endif  // MARPC_BASE_LOCAL_SOCKET_H_
