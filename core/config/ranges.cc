#include "marpc/config/ranges.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "marpc/config/faults.h"
#include "marpc/config/keys.h"
#include "marpc/config/known_names.h"
#include "marpc/config/yaml_node.h"

namespace marpc {
namespace {

bool IsSuspect(absl::string_view shown) {
  return absl::StartsWith(shown, "-") || shown == "0" || absl::StrContains(shown, "nan") ||
         absl::StrContains(shown, "inf");
}

// Goes over the keys that may stand at one level.
class RangeCheck {
 public:
  explicit RangeCheck(Faults& faults) : faults_(faults) {}

  // `place` is a copy, which is written to.
  void Check(const std::string& where, Level level, Place place) {
    for (const Key& key : Keys()) {
      if (!key.AllowedAt(level) || key.secret) continue;
      const std::string shown = key.show(place);
      if (!IsSuspect(shown)) continue;
      Faults found;
      const std::shared_ptr<const YamlNode> value = ParseYaml(shown, found);
      if (value == nullptr || !found.empty()) continue;  // free text
      const std::string name = absl::StrCat(where, key.name);
      ReadContext context{name, key.secret, known_, found};
      key.read(*value, context, place);
      for (const auto& [mark, message] : found.all()) faults_.Add(Mark(), message);
    }
  }

 private:
  const KnownNames known_;
  Faults& faults_;
};

}  // namespace

absl::Status CheckRanges(const Settings& settings) {
  Faults faults;
  RangeCheck check(faults);
  Settings copy = settings;
  check.Check("", Level::kGlobal, Place::Global(copy));
  for (auto& [service, own] : copy.services) {
    const std::string where = absl::StrCat("services.", service, ".");
    check.Check(where, Level::kService, Place::OfService(own));
    for (auto& [method, one] : own.methods) {
      check.Check(absl::StrCat(where, "methods.", method, "."), Level::kMethod,
                  Place::OfMethod(one));
    }
  }
  return faults.ToStatus(settings.source.empty() ? "settings" : settings.source);
}

}  // namespace marpc
