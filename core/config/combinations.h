// Checks of several keys together, where each is fine alone.
#ifndef MARPC_CONFIG_COMBINATIONS_H_
#define MARPC_CONFIG_COMBINATIONS_H_

#include <string>
#include <vector>

#include "marpc/config/assignments.h"
#include "marpc/config/faults.h"
#include "marpc/config/settings.h"
#include "marpc/config/shared_parts.h"

namespace marpc {

// Each reports a combination at the level that made it: where `given` holds one of its keys.
void CheckGlobal(const AssignmentGroup& given, const Settings& settings, Faults& faults);
void CheckService(const AssignmentGroup& given, const ServiceSettings& settings, Faults& faults);
void CheckMethod(const AssignmentGroup& given, const MethodSettings& settings, Faults& faults);

// Parts that have one name but not one set of settings, at this level and those that were checked
// with `shared` before.
void CheckSharedParts(const AssignmentGroup& given, const MethodSettings& settings,
                      SharedRetryParts& shared, Faults& faults);

// What is allowed but hardly meant.
std::vector<std::string> Warnings(const Settings& settings);

}  // namespace marpc

#endif  // MARPC_CONFIG_COMBINATIONS_H_
