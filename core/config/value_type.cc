#include "marpc/config/value_type.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "marpc/base/endpoint.h"

namespace marpc {
namespace {

bool IsDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

// absl writes 10m0s; nobody else does.
std::string ShowTime(absl::Duration time) {
  std::string text = absl::FormatDuration(time);
  for (const absl::string_view zero : {"m0s", "h0m"}) {
    if (absl::EndsWith(text, zero)) text.resize(text.size() - 2);
  }
  return text;
}

std::optional<absl::Duration> ParseTime(const std::string& text, BareNumber unit) {
  if (IsDigits(text)) {
    int64_t number;
    if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
    return unit == BareNumber::kSeconds ? absl::Seconds(number) : absl::Milliseconds(number);
  }
  // "inf" and signs are durations to absl, not here.
  absl::Duration time;
  if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) ||
      !absl::ParseDuration(text, &time)) {
    return std::nullopt;
  }
  return time;
}

struct SizeUnit {
  absl::string_view name;
  int64_t bytes;
};
constexpr SizeUnit kSizeUnits[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}};

std::string ShowSize(int64_t bytes) {
  for (const SizeUnit& unit : kSizeUnits) {
    if (bytes >= unit.bytes && bytes % unit.bytes == 0) {
      return absl::StrCat(bytes / unit.bytes, unit.name);
    }
  }
  return absl::StrCat(bytes);
}

std::optional<int64_t> ParseSize(absl::string_view text) {
  int64_t factor = 1;
  for (const SizeUnit& unit : kSizeUnits) {
    if (absl::ConsumeSuffix(&text, unit.name)) {
      factor = unit.bytes;
      break;
    }
  }
  const std::optional<int64_t> number = ParseWhole(std::string(text));
  int64_t bytes;
  if (!number.has_value() || __builtin_mul_overflow(*number, factor, &bytes)) return std::nullopt;
  return bytes;
}

std::string ShowText(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._-/", c);
  });
  if (plain) return text;
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}, {"$", "$$"}}), "'");
}

}  // namespace

void ReadContext::Unexpected(const YamlNode& node, absl::string_view expected) {
  std::string got;
  if (node.kind != YamlNode::Kind::kScalar) {
    got = absl::StrCat(", got ", KindName(node.kind));
  } else if (!secret) {
    // user:password@host
    const size_t at = node.scalar.rfind('@');
    const bool password = at != std::string::npos && node.scalar.find(':') < at;
    got =
        absl::StrCat(", got ", Quote(password ? "(hidden)" + node.scalar.substr(at) : node.scalar));
  }
  faults.Add(node.mark, absl::StrCat(key, ": expected ", expected, got));
}

std::optional<int64_t> ParseWhole(const std::string& text) {
  int64_t value;
  if (!IsDigits(text) || !absl::SimpleAtoi(text, &value)) return std::nullopt;
  return value;
}

ValueType<bool> TrueOrFalse() {
  return ScalarType<bool>(
      "true or false", "true or false",
      [](const std::string& text) -> std::optional<bool> {
        const std::string lower = absl::AsciiStrToLower(text);
        if (lower == "true" || lower == "yes" || lower == "on") return true;
        if (lower == "false" || lower == "no" || lower == "off") return false;
        return std::nullopt;
      },
      [](const bool& value) { return std::string(value ? "true" : "false"); });
}

ValueType<double> Number(double min, double max, bool above) {
  return ScalarType<double>(
      absl::StrCat("number, ", above ? "above " : "", min, above ? ", up to " : " to ", max),
      absl::StrCat("a number ", above ? "above " : "from ", min, above ? ", up to " : " to ", max),
      [=](const std::string& text) -> std::optional<double> {
        double value;
        if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) return std::nullopt;
        if (value < min || (above && value == min) || value > max) return std::nullopt;
        return value;
      },
      [](const double& value) { return absl::StrCat(value); });
}

ValueType<absl::Duration> Time(absl::Duration min, absl::Duration max, BareNumber unit) {
  return ScalarType<absl::Duration>(
      absl::StrCat("duration, ", ShowTime(min), " to ", ShowTime(max),
                   unit == BareNumber::kSeconds ? "; bare: seconds" : ""),
      absl::StrCat("a duration from ", ShowTime(min), " to ", ShowTime(max),
                   " such as 250ms, 3s or 1m30s (a bare number is ",
                   unit == BareNumber::kSeconds ? "seconds" : "milliseconds", ")"),
      [=](const std::string& text) -> std::optional<absl::Duration> {
        const std::optional<absl::Duration> time = ParseTime(text, unit);
        if (!time.has_value() || *time < min || *time > max) return std::nullopt;
        return time;
      },
      [](const absl::Duration& time) { return ShowTime(time); });
}

ValueType<int64_t> Size(int64_t min, int64_t max) {
  return ScalarType<int64_t>(
      absl::StrCat("size, ", ShowSize(min), " to ", ShowSize(max)),
      absl::StrCat("a size from ", ShowSize(min), " to ", ShowSize(max),
                   " such as 64KiB or 4MiB (a bare number is bytes)"),
      [=](const std::string& text) -> std::optional<int64_t> {
        const std::optional<int64_t> bytes = ParseSize(text);
        if (!bytes.has_value() || *bytes < min || *bytes > max) return std::nullopt;
        return bytes;
      },
      [](const int64_t& bytes) { return ShowSize(bytes); });
}

ValueType<std::string> Text(std::string name, std::string expected,
                            std::function<bool(const std::string&)> accepts) {
  return ScalarType<std::string>(
      std::move(name), std::move(expected),
      [accepts = std::move(accepts)](const std::string& text) -> std::optional<std::string> {
        if (!accepts(text)) return std::nullopt;
        return text;
      },
      ShowText);
}

ValueType<std::string> AnyText() {
  return Text("text", "text", [](const std::string&) { return true; });
}

ValueType<std::string> Name() {
  return Text("name", "1 to 100 letters, digits, '.', '_' or '-'", [](const std::string& text) {
    return !text.empty() && text.size() <= 100 && std::all_of(text.begin(), text.end(), [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._-", c);
    });
  });
}

ValueType<std::string> EndpointText(bool listen) {
  return Text("endpoint", "an endpoint: host:port, [v6-address]:port or unix:/path",
              [listen](const std::string& text) {
                return (listen ? Endpoint::ParseListen(text) : Endpoint::Parse(text)).ok();
              });
}

ValueType<std::string> UnixSocketText() {
  return Text("unix socket", "a unix socket: unix:/path", [](const std::string& text) {
    const absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(text);
    return text.empty() || (endpoint.ok() && endpoint->is_unix());
  });
}

ValueType<std::string> ZookeeperAddress() {
  return Text("ZooKeeper servers",
              "ZooKeeper's servers: host:port,host:port, and perhaps a /chroot",
              [](const std::string& text) {
                const absl::string_view servers = absl::string_view(text).substr(0, text.find('/'));
                for (const absl::string_view server : absl::StrSplit(servers, ',')) {
                  const absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(server);
                  if (!endpoint.ok() || endpoint->is_unix()) return false;
                }
                return true;
              });
}

ValueType<std::string> RegistryAddress() {
  ValueType<std::string> type = AnyText();
  type.name = "registry address";
  type.expected = "zookeeper://host:port,.../chroot, file:/folder, memory:name or static";
  type.read = [expected = type.expected](const YamlNode& node, ReadContext& context,
                                         std::string* target) {
    const std::string scheme = node.scalar.substr(0, node.scalar.find(':'));
    const std::vector<std::string>& schemes = context.known.registry_schemes;
    if (std::find(schemes.begin(), schemes.end(), scheme) == schemes.end()) {
      context.Unexpected(node, expected);
      return false;
    }
    // `static:` would need quotes in YAML, so the scheme alone will do.
    *target = scheme == node.scalar ? absl::StrCat(scheme, ":") : node.scalar;
    return true;
  };
  return type;
}

ValueType<std::string> LoadBalancerName() {
  ValueType<std::string> type = AnyText();
  type.expected = absl::StrCat("one of ", absl::StrJoin(KnownNames().load_balancers, ", "),
                               ", or one registered in code");
  type.name = type.expected;
  type.read = [](const YamlNode& node, ReadContext& context, std::string* target) {
    return ReadKnownName(node, context, context.known.load_balancers, target);
  };
  return type;
}

ValueType<absl::StatusCode> ErrorCode() {
  std::vector<std::pair<std::string, absl::StatusCode>> codes;
  for (int code = 1; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    const auto value = static_cast<absl::StatusCode>(code);
    codes.emplace_back(absl::StatusCodeToString(value), value);
  }
  ValueType<absl::StatusCode> type = OneOf(std::move(codes));
  type.name = "status code";
  return type;
}

bool ReadKnownName(const YamlNode& node, ReadContext& context,
                   const std::vector<std::string>& names, std::string* target) {
  if (node.kind != YamlNode::Kind::kScalar) {
    context.Unexpected(node, absl::StrCat("one of ", absl::StrJoin(names, ", ")));
    return false;
  }
  if (std::find(names.begin(), names.end(), node.scalar) == names.end()) {
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    const std::optional<std::string> nearest = Nearest(node.scalar, names);
    context.faults.Add(
        node.mark, absl::StrCat(context.key, " ", Quote(node.scalar),
                                " is unknown; known: ", absl::StrJoin(sorted, ", "),
                                nearest ? absl::StrCat("; did you mean '", *nearest, "'?") : ""));
    return false;
  }
  *target = node.scalar;
  return true;
}

}  // namespace marpc
