#include "marpc/retry/result_rule.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace marpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// One comparison as it is written.
struct Written {
  std::string field;  // empty: `empty`
  bool equal = true;
  std::string value;
  bool quoted = false;
};

absl::Status Malformed(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text,
                   "' is no rule; write `field == value`, `field != value` or `empty`, several "
                   "joined by ||, for example: status == \"PENDING\""));
}

// Where `sign` first stands outside of quotes; npos: nowhere.
size_t FindUnquoted(absl::string_view text, absl::string_view sign) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quote != 0) {
      if (text[i] == quote) quote = 0;
    } else if (text[i] == '"' || text[i] == '\'') {
      quote = text[i];
    } else if (absl::StartsWith(text.substr(i), sign)) {
      return i;
    }
  }
  return absl::string_view::npos;
}

absl::StatusOr<Written> ReadOne(absl::string_view text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(text);
  Written written;
  if (trimmed == "empty") return written;
  const size_t at = std::min(FindUnquoted(trimmed, "=="), FindUnquoted(trimmed, "!="));
  if (at == absl::string_view::npos || at == 0) return Malformed(trimmed);
  written.equal = trimmed[at] == '=';
  written.field = std::string(absl::StripAsciiWhitespace(trimmed.substr(0, at)));
  absl::string_view value = absl::StripAsciiWhitespace(trimmed.substr(at + 2));
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'')) {
    if (value.back() != value.front()) return Malformed(trimmed);
    value = value.substr(1, value.size() - 2);
    written.quoted = true;
  } else if (value.empty()) {
    return Malformed(trimmed);
  }
  written.value = std::string(value);
  return written;
}

absl::StatusOr<std::vector<Written>> Read(absl::string_view text) {
  std::vector<Written> all;
  for (;;) {
    const size_t end = FindUnquoted(text, "||");
    absl::StatusOr<Written> one = ReadOne(text.substr(0, end));
    if (!one.ok()) return one.status();
    all.push_back(*std::move(one));
    if (end == absl::string_view::npos) return all;
    text.remove_prefix(end + 2);
  }
}

std::string FieldsOf(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

absl::StatusOr<std::vector<const FieldDescriptor*>> Resolve(absl::string_view path,
                                                            const Descriptor& reply) {
  std::vector<const FieldDescriptor*> fields;
  const Descriptor* type = &reply;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (type == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", path, "': ", fields.back()->name(), " is no message"));
    }
    const FieldDescriptor* field = type->FindFieldByName(std::string(name));
    if (field == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(type->full_name(), " has no field '", name,
                                                     "'; its fields: ", FieldsOf(*type)));
    }
    if (field->is_repeated()) {
      return absl::InvalidArgumentError(absl::StrCat("'", path, "': ", field->full_name(),
                                                     " is a list, which cannot be compared"));
    }
    fields.push_back(field);
    type = field->message_type();
  }
  if (type != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("'", path,
                                                   "' is a message; name one of its "
                                                   "fields: ",
                                                   FieldsOf(*type)));
  }
  return fields;
}

// With all the digits that tell it from its neighbours; 0 for -0, which equals it.
std::string Exactly(double number) { return absl::StrFormat("%.17g", number == 0 ? 0 : number); }

// A field's value in the one spelling in which values are compared.
std::string ValueOf(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:  // a value may have several names
      return absl::StrCat(reflection.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(reflection.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Exactly(reflection.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Exactly(reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return "";
}

template <typename T, typename Parse>
std::optional<std::string> Number(const std::string& written, Parse parse) {
  T number;
  if (!parse(written, &number)) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    return Exactly(number);
  } else {
    return absl::StrCat(number);
  }
}

// The written value in that spelling; none when the field can never have it.
std::optional<std::string> Spelling(const Written& written, const FieldDescriptor& field) {
  const std::string& value = written.value;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return written.quoted ? std::optional(value) : std::nullopt;
    case FieldDescriptor::CPPTYPE_BOOL:
      return value == "true" || value == "false" ? std::optional(value) : std::nullopt;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* named = field.enum_type()->FindValueByName(value);
      return named != nullptr ? std::optional(absl::StrCat(named->number())) : std::nullopt;
    }
    case FieldDescriptor::CPPTYPE_INT32:
      return Number<int32_t>(value, absl::SimpleAtoi<int32_t>);
    case FieldDescriptor::CPPTYPE_INT64:
      return Number<int64_t>(value, absl::SimpleAtoi<int64_t>);
    case FieldDescriptor::CPPTYPE_UINT32:
      return Number<uint32_t>(value, absl::SimpleAtoi<uint32_t>);
    case FieldDescriptor::CPPTYPE_UINT64:
      return Number<uint64_t>(value, absl::SimpleAtoi<uint64_t>);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Number<float>(value, absl::SimpleAtof);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Number<double>(value, absl::SimpleAtod);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return std::nullopt;
}

std::string Wanted(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return "a text in quotes";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM: {
      std::vector<std::string> names;
      for (int i = 0; i < field.enum_type()->value_count(); ++i) {
        names.push_back(field.enum_type()->value(i)->name());
      }
      return absl::StrCat("one of ", absl::StrJoin(names, ", "));
    }
    default:
      return absl::StrCat("a number of type ", field.type_name());
  }
}

}  // namespace

absl::Status ResultRule::CheckForm(absl::string_view text) {
  return text.empty() ? absl::OkStatus() : Read(text).status();
}

absl::StatusOr<std::shared_ptr<const ResultRule>> ResultRule::Parse(absl::string_view text,
                                                                    const Descriptor& reply) {
  absl::StatusOr<std::vector<Written>> written = Read(text);
  if (!written.ok()) return written.status();
  auto rule = std::make_shared<ResultRule>();
  rule->type_ = &reply;
  for (const Written& one : *written) {
    Comparison comparison;
    comparison.equal = one.equal;
    if (!one.field.empty()) {
      auto path = Resolve(one.field, reply);
      if (!path.ok()) return path.status();
      comparison.path = *std::move(path);
      std::optional<std::string> value = Spelling(one, *comparison.path.back());
      if (!value.has_value()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "'", one.value, "' can never be the value of ", comparison.path.back()->full_name(),
            ", which takes ", Wanted(*comparison.path.back())));
      }
      comparison.value = *std::move(value);
    }
    rule->any_of_.push_back(std::move(comparison));
  }
  return std::shared_ptr<const ResultRule>(std::move(rule));
}

absl::StatusOr<std::shared_ptr<const ResultRule>> ResultRule::For(const Method& method,
                                                                  absl::string_view text) {
  const auto* reply = dynamic_cast<const Message*>(method.reply_prototype);
  if (reply == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(method.full_name,
                     ": retry.retryOnResult has no effect, since the reply's type "
                     "is not linked into this process"));
  }
  auto rule = Parse(text, *reply->GetDescriptor());
  if (rule.ok()) return rule;
  return absl::Status(
      rule.status().code(),
      absl::StrCat(method.full_name, ": retry.retryOnResult: ", rule.status().message()));
}

const Message* ResultRule::AsOwnType(const google::protobuf::MessageLite& reply) const {
  const std::type_info& its_class = typeid(reply);
  if (&its_class == class_.load(std::memory_order_relaxed)) {
    return static_cast<const Message*>(&reply);
  }
  const auto* message = dynamic_cast<const Message*>(&reply);
  if (message == nullptr || message->GetDescriptor() != type_) return nullptr;
  // A generated class is of one type; that of dynamic messages is of many.
  if (message->GetReflection()->GetMessageFactory() ==
      google::protobuf::MessageFactory::generated_factory()) {
    class_.store(&its_class, std::memory_order_relaxed);
  }
  return message;
}

bool ResultRule::Matches(const google::protobuf::MessageLite& reply) const {
  const Message* const message = AsOwnType(reply);
  if (message == nullptr) return false;
  return std::any_of(any_of_.begin(), any_of_.end(), [&](const Comparison& comparison) {
    if (comparison.path.empty()) return message->ByteSizeLong() == 0;
    const Message* holder = message;
    for (size_t i = 0; i + 1 < comparison.path.size(); ++i) {
      holder = &holder->GetReflection()->GetMessage(*holder, comparison.path[i]);
    }
    return (ValueOf(*holder, *comparison.path.back()) == comparison.value) == comparison.equal;
  });
}

}  // namespace marpc
