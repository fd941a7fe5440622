#include "marpc/config/environment.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "marpc/config/yaml_node.h"

namespace marpc {
namespace {

// As large as a whole file may be: more is a mistake.
constexpr size_t kMaxExpandedBytes = kMaxYamlBytes;

bool IsName(absl::string_view name) {
  return !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c));
         });
}

// `inner` is what stands between `${` and `}`.
absl::StatusOr<std::string> Expand(absl::string_view inner, const EnvironmentLookup& environment) {
  const size_t colon = inner.find(':');
  const std::string name(inner.substr(0, colon));
  if (!IsName(name) || inner.find("${") != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        "between '${' and '}' stands the name of an environment variable (letters, digits, '_'), "
        "or NAME:default; write '$$' for a plain '$'");
  }
  if (std::optional<std::string> value = environment(name)) return *std::move(value);
  if (colon != absl::string_view::npos) return std::string(inner.substr(colon + 1));
  return absl::InvalidArgumentError(absl::StrCat("the environment variable ", name,
                                                 " is not set; set it, or give a default: ${", name,
                                                 ":default}"));
}

}  // namespace

std::optional<std::string> ProcessEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

absl::StatusOr<std::string> ExpandEnvironment(absl::string_view text,
                                              const EnvironmentLookup& environment) {
  std::string expanded;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] != '$' || (next != '$' && next != '{')) {
      expanded += text[i];
      continue;
    }
    if (next == '$') {
      expanded += '$';
      ++i;
      continue;
    }
    const size_t end = text.find('}', i);
    if (end == absl::string_view::npos) {
      return absl::InvalidArgumentError("a '${' has no '}'; write '$$' for a plain '$'");
    }
    absl::StatusOr<std::string> value = Expand(text.substr(i + 2, end - i - 2), environment);
    if (!value.ok()) return value.status();
    expanded += *value;
    if (expanded.size() > kMaxExpandedBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "with its environment variables the text is longer than ", kMaxExpandedBytes, " bytes"));
    }
    i = end;
  }
  return expanded;
}

}  // namespace marpc
