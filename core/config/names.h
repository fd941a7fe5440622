// Are the services and methods that a configuration speaks of there at all?
#ifndef MARPC_CONFIG_NAMES_H_
#define MARPC_CONFIG_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "marpc/config/settings.h"

namespace google::protobuf {
class DescriptorPool;
}  // namespace google::protobuf

namespace marpc {

// Compares the names below `services:` with the descriptors in `pool`; null: those linked into this
// process.
//
// InvalidArgument names every method that its service does not have, with the nearest one that it
// has. A service that is not in the pool may be called by other means (a stub of its own channel, a
// string) or be misspelt: it gets one line in `warnings`, which may be null.
absl::Status CheckNames(const Settings& settings, std::vector<std::string>* warnings,
                        const google::protobuf::DescriptorPool* pool = nullptr);

}  // namespace marpc

#endif  // MARPC_CONFIG_NAMES_H_
