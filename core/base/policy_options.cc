#include "marpc/base/policy_options.h"

#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace marpc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Double quotes as YAML reads them. Protobuf's own text form escapes in octal, which YAML does not
// know.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, c));
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppend(&quoted, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string ValueText(const Message& message, const FieldDescriptor& field, int index) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    return Quoted(index < 0 ? reflection.GetString(message, &field)
                            : reflection.GetRepeatedString(message, &field, index));
  }
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, &field, index, &text);
  return text;
}

// What `options` gives below `parent`.
void Collect(const Message& options, const PolicyOption& parent, std::vector<PolicyOption>& found) {
  const google::protobuf::Reflection& reflection = *options.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(options, &fields);
  for (const FieldDescriptor* field : fields) {
    PolicyOption option = parent;
    absl::StrAppend(&option.field, option.field.empty() ? "" : ".", field->name());
    if (option.field == "quick") continue;  // of the provider, and no policy
    option.numbers.push_back(field->number());
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Collect(reflection.GetMessage(options, field), option, found);
      continue;
    }
    option.key = KeyOfPolicyField(option.field);
    if (field->is_repeated()) {
      std::vector<std::string> items;
      for (int i = 0; i < reflection.FieldSize(options, field); ++i) {
        items.push_back(ValueText(options, *field, i));
      }
      option.value = absl::StrCat("[", absl::StrJoin(items, ", "), "]");
    } else {
      option.value = ValueText(options, *field, -1);
    }
    found.push_back(std::move(option));
  }
}

}  // namespace

std::vector<PolicyOption> PolicyOptionsOf(const Message& options) {
  std::vector<PolicyOption> found;
  Collect(options, {}, found);
  return found;
}

std::string PolicyText(const std::vector<PolicyOption>& options) {
  return absl::StrJoin(options, "", [](std::string* out, const PolicyOption& option) {
    absl::StrAppend(out, option.key, ": ", option.value, "\n");
  });
}

std::string PolicyText(const Message& options) { return PolicyText(PolicyOptionsOf(options)); }

std::string KeyOfPolicyField(const std::string& field) {
  if (field == "timeout") return "retry.totalTimeout";
  static const auto& groups = *new std::map<std::string, std::string>{
      {"circuit_breaker", "circuitbreaker"}, {"cache", "filter.cache"}};
  std::string rest = field;
  std::string key;
  const auto group = groups.find(field.substr(0, field.find('.')));
  if (group != groups.end()) {
    key = group->second;
    rest = field.substr(group->first.size());
  }
  bool upper = false;
  for (const char c : rest) {
    if (c == '_') {
      upper = true;
    } else {
      key += std::exchange(upper, false) ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c;
    }
  }
  return key;
}

}  // namespace marpc
