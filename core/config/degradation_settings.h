// What can be set below `degradation`; a part of settings.h, with the same rules.
// docs/guide/degradation.md explains it.
#ifndef MARPC_CONFIG_DEGRADATION_SETTINGS_H_
#define MARPC_CONFIG_DEGRADATION_SETTINGS_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace marpc {

// How much of a service is called, in the order of what is left out.
enum class DegradationLevel {
  kNormal,    // everything
  kDegraded,  // all but the optional methods
  kCoreOnly,  // the core methods alone
};

// What a program can do without.
enum class MethodImportance {
  kCore,  // nothing works without it
  kNormal,
  kOptional,  // nice to have
};

// By the names that they have in YAML.
inline constexpr std::pair<absl::string_view, DegradationLevel> kDegradationLevels[] = {
    {"normal", DegradationLevel::kNormal},
    {"degraded", DegradationLevel::kDegraded},
    {"core-only", DegradationLevel::kCoreOnly},
};
inline constexpr std::pair<absl::string_view, MethodImportance> kMethodImportances[] = {
    {"core", MethodImportance::kCore},
    {"normal", MethodImportance::kNormal},
    {"optional", MethodImportance::kOptional},
};

// Of a method.
struct DegradationSettings {
  MethodImportance importance = MethodImportance::kNormal;
  // What a caller is told, in the stead of marpc's own words, when its call was refused or lost for
  // good and nothing answers in its place. Empty: marpc's own.
  std::string message;
  // When it may ask again, where nothing better is known.
  absl::Duration retry_after = absl::Seconds(30);

  friend bool operator==(const DegradationSettings&, const DegradationSettings&) = default;
};

}  // namespace marpc

#endif  // MARPC_CONFIG_DEGRADATION_SETTINGS_H_
