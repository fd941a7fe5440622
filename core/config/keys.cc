#include "marpc/config/keys.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace marpc {

Place Place::Global(Settings& settings) {
  return {&settings, &settings.service_defaults, &settings.method_defaults};
}
Place Place::OfService(Settings::PerService& service) {
  return {nullptr, &service.service, &service.method_defaults};
}
Place Place::OfMethod(MethodSettings& method) { return {nullptr, nullptr, &method}; }

bool Key::AllowedAt(Level level) const {
  return std::find(levels.begin(), levels.end(), level) != levels.end();
}

const Key* FindKey(absl::string_view name) {
  for (const Key& key : Keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

bool IsKeyGroup(absl::string_view name) {
  if (name.empty()) return true;
  const std::string prefix = absl::StrCat(name, ".");
  return std::any_of(Keys().begin(), Keys().end(),
                     [&](const Key& key) { return absl::StartsWith(key.name, prefix); });
}

std::vector<std::string> NamesBelow(absl::string_view group, Level level) {
  const std::string prefix = group.empty() ? "" : absl::StrCat(group, ".");
  std::set<std::string> names;
  for (const Key& key : Keys()) {
    absl::string_view rest = key.name;
    if (!key.AllowedAt(level) || !absl::ConsumePrefix(&rest, prefix)) continue;
    names.emplace(rest.substr(0, rest.find('.')));
  }
  return {names.begin(), names.end()};
}

absl::string_view LevelName(Level level) {
  switch (level) {
    case Level::kGlobal:
      return "at the top";
    case Level::kService:
      return "in a service";
    case Level::kMethod:
      return "in a method";
  }
  return "?";
}

}  // namespace marpc
