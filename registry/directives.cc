#include "marpc/registry/directives.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "marpc/config/degradation_settings.h"
#include "marpc/config/faults.h"
#include "marpc/config/yaml_node.h"
#include "marpc/instance.pb.h"

namespace marpc {
namespace {

// The service's name may be 240 characters long, a method's and an endpoint's, too.
constexpr size_t kMaxKeyBytes = 1024;

absl::Status CheckOneOf(absl::string_view what, absl::string_view value,
                        const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", Quote(value), " is unknown", NearestOrKnown(value, allowed)));
}

}  // namespace

absl::string_view ServiceOfBreaker(absl::string_view breaker) {
  return breaker.substr(0, breaker.find_first_of("/@"));
}

absl::Status CheckUnderstood(absl::string_view service, absl::string_view key,
                             absl::string_view value) {
  if (key == kLevelDirective) {
    std::vector<std::string> levels;
    for (const auto& [name, level] : kDegradationLevels) levels.emplace_back(name);
    return CheckOneOf("level", value, levels);
  }
  absl::string_view breaker = key;
  if (!absl::ConsumePrefix(&breaker, kBreakerDirective)) {
    return absl::InvalidArgumentError(absl::StrCat("directive ", Quote(key),
                                                   " is unknown; known: ", kLevelDirective, ", ",
                                                   kBreakerDirective, service));
  }
  if (ServiceOfBreaker(breaker) != service) {
    return absl::InvalidArgumentError(absl::StrCat("breaker ", Quote(breaker), " is none of ",
                                                   service, ": those are named ", service, ", ",
                                                   service, "/METHOD or ", service, "@HOST:PORT"));
  }
  return CheckOneOf("state", value, {"FORCED_OPEN", "DISABLED", "METRICS_ONLY"});
}

absl::Status CheckDirective(absl::string_view key, absl::string_view value) {
  if (key.empty()) return absl::InvalidArgumentError("a directive needs a key");
  if (key.size() > kMaxKeyBytes || value.size() > kMaxKeyBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a directive's key and value may each be ",
                                                   kMaxKeyBytes, " bytes long, no more"));
  }
  for (const absl::string_view text : {key, value}) {
    const bool bad = std::any_of(text.begin(), text.end(),
                                 [](char c) { return (c >= 0 && c < ' ') || c == 127; });
    if (bad) {
      return absl::InvalidArgumentError(
          absl::StrCat("a directive may not hold control characters: ", Quote(text)));
    }
  }
  // Protobuf would say so itself, on the standard error.
  for (const absl::string_view text : {key, value}) {
    if (!IsText(text)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a directive is text in UTF-8: ", absl::CHexEscape(text)));
    }
  }
  // One that removes is checked by its key alone.
  return DirectivesToJson({{std::string(key), value.empty() ? "x" : std::string(value)}}).status();
}

absl::StatusOr<std::string> DirectivesToJson(const Directives& directives) {
  DirectivesRecord record;
  record.mutable_directives()->insert(directives.begin(), directives.end());
  std::string json;
  const auto written = google::protobuf::util::MessageToJsonString(record, &json);
  // Read back, for what the writer lets through and the reader would refuse.
  const absl::StatusOr<Directives> copy =
      written.ok() ? ParseDirectives(json) : absl::InvalidArgumentError(written.ToString());
  if (copy.ok() && *copy == directives) return json;
  if (json.size() > kMaxDirectivesBytes) return copy.status();
  return absl::InvalidArgumentError("a directive holds text that is not UTF-8");
}

absl::StatusOr<Directives> ParseDirectives(absl::string_view json) {
  if (json.empty()) return Directives();
  if (json.size() > kMaxDirectivesBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the service's directives are ", json.size(),
                                                   " bytes long, the limit is ",
                                                   kMaxDirectivesBytes));
  }
  DirectivesRecord record;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), &record, options);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is not JSON of marpc.DirectivesRecord: ",
                     absl::Utf8SafeCEscape(parsed.ToString().substr(0, 200))));
  }
  Directives directives(record.directives().begin(), record.directives().end());
  std::erase_if(directives, [](const auto& one) { return one.second.empty(); });
  return directives;
}

bool ApplyDirective(Directives& directives, const std::string& key, const std::string& value) {
  if (value.empty()) return directives.erase(key) > 0;
  std::string& held = directives[key];
  if (held == value) return false;
  held = value;
  return true;
}

}  // namespace marpc
