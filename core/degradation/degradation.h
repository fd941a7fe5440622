// Graded degradation: which calls are made at which level, and what is said of those that are not.
//
//   level       core   normal   optional
//   normal      made   made     made
//   degraded    made   made     -
//   core-only   made   -        -
#ifndef MARPC_DEGRADATION_DEGRADATION_H_
#define MARPC_DEGRADATION_DEGRADATION_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "marpc/base/method.h"
#include "marpc/config/degradation_settings.h"

namespace marpc {

constexpr bool IsMade(DegradationLevel level, MethodImportance importance) {
  switch (level) {
    case DegradationLevel::kNormal:
      return true;
    case DegradationLevel::kDegraded:
      return importance != MethodImportance::kOptional;
    case DegradationLevel::kCoreOnly:
      return importance == MethodImportance::kCore;
  }
  return true;
}

// normal, degraded, core-only
absl::string_view DegradationLevelName(DegradationLevel level);
// None where no level has that name: for what an operator has typed.
std::optional<DegradationLevel> DegradationLevelOf(absl::string_view name);
// core, normal, optional
absl::string_view MethodImportanceName(MethodImportance importance);

// What a caller of a method that is not called at `level` is told, where the settings have no
// message of their own.
std::string WhyNotMade(const Method& method, const DegradationSettings& settings,
                       DegradationLevel level);

}  // namespace marpc

#endif  // MARPC_DEGRADATION_DEGRADATION_H_
