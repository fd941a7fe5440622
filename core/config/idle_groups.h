// Keys that were given to a part that nobody switched on.
#ifndef MARPC_CONFIG_IDLE_GROUPS_H_
#define MARPC_CONFIG_IDLE_GROUPS_H_

#include <string>
#include <vector>

#include "marpc/config/assignments.h"
#include "marpc/config/settings.h"

namespace marpc {

// A warning for each level that gives keys of a part (circuitbreaker, filter.mock, retry.hedging
// ...) whose `enabled` is false by default and stands neither there, nor above, nor below it.
// `enabled: false` is somebody's word, and warned of by nobody. `settings` are what the file came
// to.
std::vector<std::string> WarnOfIdleGroups(const FileAssignments& file, const Settings& settings);

}  // namespace marpc

#endif  // MARPC_CONFIG_IDLE_GROUPS_H_
