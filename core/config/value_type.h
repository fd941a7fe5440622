// The types that a key's value can have: what is expected, how it is read from YAML, and how it is
// shown.
//
//   ValueType<int> type = Whole<int>(0, 100);
//   type.expected;       // "a whole number from 0 to 100"
//   type.show(3);        // "3"
//
// What `show` gives is what `read` takes.
#ifndef MARPC_CONFIG_VALUE_TYPE_H_
#define MARPC_CONFIG_VALUE_TYPE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "marpc/config/faults.h"
#include "marpc/config/known_names.h"
#include "marpc/config/yaml_node.h"

namespace marpc {

// Where a value is read for, and where its faults go.
struct ReadContext {
  const std::string& key;  // marpc.retry.maxRetries
  bool secret;             // its value stays out of messages
  const KnownNames& known;
  Faults& faults;

  // `<key>: expected <expected>, got 'value'`
  void Unexpected(const YamlNode& node, absl::string_view expected);
};

template <typename T>
struct ValueType {
  // Short, for the reference: "whole number, 0 to 100", "list of text".
  std::string name;
  // In full, for messages: "a whole number from 0 to 100".
  std::string expected;
  // False after the fault was reported; the target is untouched then.
  std::function<bool(const YamlNode&, ReadContext&, T*)> read;
  std::function<std::string(const T&)> show;
};

// A type that is written as one piece of text.
template <typename T>
ValueType<T> ScalarType(std::string name, std::string expected,
                        std::function<std::optional<T>(const std::string&)> parse,
                        std::function<std::string(const T&)> show) {
  ValueType<T> type{std::move(name), std::move(expected), nullptr, std::move(show)};
  type.read = [expected = type.expected, parse = std::move(parse)](
                  const YamlNode& node, ReadContext& context, T* target) {
    std::optional<T> value;
    if (node.kind == YamlNode::Kind::kScalar) value = parse(node.scalar);
    if (!value.has_value()) {
      context.Unexpected(node, expected);
      return false;
    }
    *target = *std::move(value);
    return true;
  };
  return type;
}

// Decimal digits only; what overflows is refused.
std::optional<int64_t> ParseWhole(const std::string& text);

template <typename Int>
ValueType<Int> Whole(int64_t min, int64_t max) {
  return ScalarType<Int>(
      absl::StrCat("whole number, ", min, " to ", max),
      absl::StrCat("a whole number from ", min, " to ", max),
      [min, max](const std::string& text) -> std::optional<Int> {
        const std::optional<int64_t> value = ParseWhole(text);
        if (!value.has_value() || *value < min || *value > max) return std::nullopt;
        return static_cast<Int>(*value);
      },
      [](const Int& value) { return absl::StrCat(value); });
}

ValueType<bool> TrueOrFalse();

// `above`: min itself is not allowed.
ValueType<double> Number(double min, double max, bool above = false);

enum class BareNumber { kMilliseconds, kSeconds };
// `250ms`, `3s`, `1m30s`, or a bare number in the unit given.
ValueType<absl::Duration> Time(absl::Duration min, absl::Duration max,
                               BareNumber unit = BareNumber::kMilliseconds);

// `4MiB`, `64KiB`, or a bare number of bytes.
ValueType<int64_t> Size(int64_t min, int64_t max);

// Text that `accepts` agrees to.
ValueType<std::string> Text(std::string name, std::string expected,
                            std::function<bool(const std::string&)> accepts);
// Any text, the empty one included.
ValueType<std::string> AnyText();
// Letters, digits, '.', '_' and '-': what goes into paths and labels as it is.
ValueType<std::string> Name();
// Empty, or an endpoint; port 0 only where `listen`.
ValueType<std::string> EndpointText(bool listen);
// unix:/path, or nothing.
ValueType<std::string> UnixSocketText();
// `host:port,host:port/chroot`
ValueType<std::string> ZookeeperAddress();
// Empty, or `scheme:...` with a known scheme.
ValueType<std::string> RegistryAddress();
// One of context.known.load_balancers.
ValueType<std::string> LoadBalancerName();
// NOT_FOUND, UNAVAILABLE ...; never OK.
ValueType<absl::StatusCode> ErrorCode();

// Reports `<key> 'rr' is unknown; did you mean ...` unless `node` is one of `names`.
bool ReadKnownName(const YamlNode& node, ReadContext& context,
                   const std::vector<std::string>& names, std::string* target);

template <typename Enum>
ValueType<Enum> OneOf(std::vector<std::pair<std::string, Enum>> values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  const std::string listed = absl::StrJoin(names, ", ");
  ValueType<Enum> type{absl::StrCat("one of ", listed), absl::StrCat("one of ", listed), nullptr,
                       nullptr};
  type.read = [names, values](const YamlNode& node, ReadContext& context, Enum* target) {
    std::string chosen;
    if (!ReadKnownName(node, context, names, &chosen)) return false;
    for (const auto& [name, value] : values) {
      if (name == chosen) *target = value;
    }
    return true;
  };
  type.show = [values](const Enum& wanted) {
    for (const auto& [name, value] : values) {
      if (value == wanted) return name;
    }
    return std::string("?");
  };
  return type;
}

// One name, or a list of them; those that are named are on, the others off.
template <typename Flags>
ValueType<Flags> OneOrSeveralOf(std::vector<std::pair<std::string, bool Flags::*>> flags) {
  std::vector<std::string> names;
  for (const auto& [name, flag] : flags) names.push_back(name);
  const std::string text = absl::StrCat("one or a list of ", absl::StrJoin(names, ", "));
  ValueType<Flags> type{text, text, nullptr, nullptr};
  type.read = [=](const YamlNode& node, ReadContext& context, Flags* target) {
    std::vector<const YamlNode*> items;
    if (node.kind == YamlNode::Kind::kScalar) items.push_back(&node);
    if (node.kind == YamlNode::Kind::kList) {
      for (const auto& item : node.items) items.push_back(&*item);
    }
    if (items.empty()) {
      context.Unexpected(node, text);
      return false;
    }
    Flags read;
    for (const auto& [name, flag] : flags) read.*flag = false;
    for (const YamlNode* item : items) {
      std::string chosen;
      if (!ReadKnownName(*item, context, names, &chosen)) return false;
      for (const auto& [name, flag] : flags) {
        if (name == chosen) read.*flag = true;
      }
    }
    *target = read;
    return true;
  };
  type.show = [flags](const Flags& value) {
    std::vector<std::string> on;
    for (const auto& [name, flag] : flags) {
      if (value.*flag) on.push_back(name);
    }
    return on.size() == 1 ? on[0] : absl::StrCat("[", absl::StrJoin(on, ", "), "]");
  };
  return type;
}

// A value that may be left out; `unset` says in the reference what holds then.
template <typename T>
ValueType<std::optional<T>> Optional(ValueType<T> inner, std::string unset) {
  ValueType<std::optional<T>> type{inner.name, inner.expected, nullptr, nullptr};
  type.read = [read = inner.read](const YamlNode& node, ReadContext& context,
                                  std::optional<T>* target) {
    T value{};
    if (!read(node, context, &value)) return false;
    *target = std::move(value);
    return true;
  };
  type.show = [show = inner.show, unset = std::move(unset)](const std::optional<T>& value) {
    return value.has_value() ? show(*value) : unset;
  };
  return type;
}

template <typename T>
ValueType<std::vector<T>> ListOf(ValueType<T> item) {
  ValueType<std::vector<T>> type{absl::StrCat("list of ", item.name), "", nullptr, nullptr};
  type.expected = absl::StrCat("a list, each item ", item.expected);
  type.read = [expected = type.expected, read = item.read](
                  const YamlNode& node, ReadContext& context, std::vector<T>* target) {
    if (node.kind != YamlNode::Kind::kList) {
      context.Unexpected(node, expected);
      return false;
    }
    std::vector<T> list(node.items.size());
    bool all = true;
    for (size_t i = 0; i < list.size(); ++i) {
      // In this order: a fault must not hide the next one.
      all = read(*node.items[i], context, &list[i]) && all;
    }
    if (all) *target = std::move(list);
    return all;
  };
  type.show = [show = item.show](const std::vector<T>& list) {
    return absl::StrCat(
        "[",
        absl::StrJoin(list, ", ",
                      [&](std::string* out, const T& value) { absl::StrAppend(out, show(value)); }),
        "]");
  };
  return type;
}

template <typename T>
ValueType<std::map<std::string, T>> MapOf(ValueType<T> item) {
  ValueType<std::map<std::string, T>> type{absl::StrCat("map to ", item.name), "", nullptr,
                                           nullptr};
  type.expected = absl::StrCat("a map, each value ", item.expected);
  type.read = [expected = type.expected, read = item.read](
                  const YamlNode& node, ReadContext& context, std::map<std::string, T>* target) {
    if (node.kind != YamlNode::Kind::kMap) {
      context.Unexpected(node, expected);
      return false;
    }
    std::map<std::string, T> map;
    bool all = true;
    for (const YamlNode::Entry& entry : node.entries) {
      all = read(*entry.value, context, &map[entry.key]) && all;
    }
    if (all) *target = std::move(map);
    return all;
  };
  type.show = [show = item.show](const std::map<std::string, T>& map) {
    return absl::StrCat("{",
                        absl::StrJoin(map, ", ",
                                      [&](std::string* out, const auto& entry) {
                                        absl::StrAppend(out, AnyText().show(entry.first), ": ",
                                                        show(entry.second));
                                      }),
                        "}");
  };
  return type;
}

}  // namespace marpc

#endif  // MARPC_CONFIG_VALUE_TYPE_H_
