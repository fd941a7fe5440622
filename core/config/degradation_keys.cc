#include "marpc/config/degradation_keys.h"

#include <iterator>

#include "marpc/config/degradation_settings.h"
#include "marpc/config/key_definition.h"
#include "marpc/config/value_type.h"

namespace marpc {
namespace {

ValueType<DegradationLevel> NameOfLevel() {
  return OneOf<DegradationLevel>({std::begin(kDegradationLevels), std::end(kDegradationLevels)});
}
ValueType<MethodImportance> NameOfImportance() {
  return OneOf<MethodImportance>({std::begin(kMethodImportances), std::end(kMethodImportances)});
}

}  // namespace

std::vector<Key> DegradationKeys() {
  using D = DegradationSettings;
  const auto at = [](auto D::*member) { return At(&MethodSettings::degradation, member); };
  return {
      Define("degradation.level", At(&ServiceSettings::degradation_level), NameOfLevel(),
             "degraded",
             "The level that a service begins at: degraded leaves its optional methods out, "
             "core-only all but the core ones; Consumer::SetDegradation() changes it."),
      Define("degradation.importance", at(&D::importance), NameOfImportance(), "optional",
             "What a level keeps: core methods are always called, optional ones at the level "
             "normal alone."),
      Define("degradation.message", at(&D::message), AnyText(), "'come back in a minute'",
             "What a caller is told when its call is left out, refused or lost for good, and "
             "nothing answers in its place; empty: marpc's own words."),
      Define("degradation.retryAfter", at(&D::retry_after),
             Time(absl::ZeroDuration(), absl::Hours(24)), "5s",
             "When it may ask again, where nothing better is known; 0: not said. For calls that "
             "are left out, and with a message for all."),
  };
}

}  // namespace marpc
