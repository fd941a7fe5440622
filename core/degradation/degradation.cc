#include "marpc/degradation/degradation.h"

#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

template <typename Enum, size_t N>
absl::string_view NameIn(const std::pair<absl::string_view, Enum> (&names)[N], Enum wanted) {
  for (const auto& [name, value] : names) {
    if (value == wanted) return name;
  }
  return "?";
}

}  // namespace

absl::string_view DegradationLevelName(DegradationLevel level) {
  return NameIn(kDegradationLevels, level);
}

std::optional<DegradationLevel> DegradationLevelOf(absl::string_view name) {
  for (const auto& [known, level] : kDegradationLevels) {
    if (known == name) return level;
  }
  return std::nullopt;
}

absl::string_view MethodImportanceName(MethodImportance importance) {
  return NameIn(kMethodImportances, importance);
}

std::string WhyNotMade(const Method& method, const DegradationSettings& settings,
                       DegradationLevel level) {
  std::string text = absl::StrCat(method.full_name, " is not called for now: ", method.service,
                                  " is at the level ", DegradationLevelName(level),
                                  ", and the importance of this method is ",
                                  MethodImportanceName(settings.importance), "; please try again ");
  if (settings.retry_after > absl::ZeroDuration()) {
    absl::StrAppend(&text, "in ", absl::FormatDuration(settings.retry_after), ", or ");
  }
  absl::StrAppend(
      &text, "when the level is ",
      settings.importance == MethodImportance::kNormal ? "degraded or normal" : "normal",
      " again (Consumer::SetDegradation)");
  return text;
}

}  // namespace marpc
