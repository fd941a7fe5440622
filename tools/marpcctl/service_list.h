// A service's list, once, and as people read it.
#ifndef MARPC_TOOLS_MARPCCTL_SERVICE_LIST_H_
#define MARPC_TOOLS_MARPCCTL_SERVICE_LIST_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/registry/registry.h"

namespace marpc::ctl {

// What the registry says now. Unavailable where it does not answer in time.
absl::StatusOr<std::shared_ptr<const ServiceSnapshot>> ReadList(Registry& registry,
                                                                absl::string_view service,
                                                                absl::Duration timeout);

// As it is, or in quotes with escapes where it holds what a terminal would obey.
std::string Shown(const std::string& text);

// One line an instance, below a line of titles; then the marks of instances that are not there.
std::string InstanceTable(const ServiceSnapshot& list);

}  // namespace marpc::ctl

#endif  // MARPC_TOOLS_MARPCCTL_SERVICE_LIST_H_
