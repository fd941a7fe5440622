// The file of a service's directives.
#ifndef MARPC_REGISTRY_FILE_DIRECTIVES_FILE_H_
#define MARPC_REGISTRY_FILE_DIRECTIVES_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "marpc/registry/directives.h"

namespace marpc {

// Nothing where there is no file.
absl::StatusOr<Directives> ReadDirectivesFile(const std::string& path);

// Changes one directive and leaves the others as they are, whoever changes them at the same time:
// under a lock, on a file beside it that is never replaced. The folder must be there. Does not
// wait: Aborted while another process holds the lock. FailedPrecondition where the file holds what
// cannot be read.
absl::Status ChangeDirectivesFile(const std::string& path, const std::string& key,
                                  const std::string& value);

}  // namespace marpc

#endif  // MARPC_REGISTRY_FILE_DIRECTIVES_FILE_H_
