#include "marpc/invoker/hash_key.h"

#include <bit>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "marpc/base/stable_hash.h"

namespace marpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Empty where the type has no such field, or one that has no single value.
std::vector<const FieldDescriptor*> Resolve(absl::string_view path, const Descriptor* type) {
  std::vector<const FieldDescriptor*> fields;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    const FieldDescriptor* field =
        type == nullptr ? nullptr : type->FindFieldByName(std::string(name));
    if (field == nullptr || field->is_repeated()) return {};
    fields.push_back(field);
    type = field->message_type();
  }
  if (type != nullptr) return {};
  return fields;
}

uint64_t HashOfNumber(uint64_t number) { return MixBits(number); }

std::optional<uint64_t> HashOfText(absl::string_view text) {
  if (text.empty()) return std::nullopt;
  return StableHash(text);
}

}  // namespace

std::shared_ptr<const HashKey> HashKey::For(const Method& method, const HashSettings& settings) {
  auto key = std::make_shared<HashKey>();
  key->key_ = settings.key;
  key->metadata_key_ = absl::AsciiStrToLower(settings.key);
  const auto* request = dynamic_cast<const Message*>(method.request_prototype);
  if (!settings.field.empty() && request != nullptr) {
    key->type_ = request->GetDescriptor();
    key->path_ = Resolve(settings.field, key->type_);
  }
  if (key->key_.empty() && key->path_.empty()) return nullptr;
  return key;
}

std::optional<uint64_t> HashKey::Of(const google::protobuf::MessageLite& request,
                                    const RpcContext& context, const Metadata* metadata) const {
  if (!path_.empty()) {
    if (const std::optional<uint64_t> hash = OfField(request)) return hash;
  }
  if (key_.empty()) return std::nullopt;
  if (const std::optional<absl::string_view> entry = context.Get(key_)) return HashOfText(*entry);
  if (metadata == nullptr) return std::nullopt;
  for (const auto& [key, value] : *metadata) {
    if (key == metadata_key_) return HashOfText(value);
  }
  return std::nullopt;
}

std::optional<uint64_t> HashKey::OfField(const google::protobuf::MessageLite& request) const {
  const std::type_info& its_class = typeid(request);
  const Message* message = nullptr;
  if (&its_class == class_.load(std::memory_order_relaxed)) {
    message = static_cast<const Message*>(&request);
  } else {
    message = dynamic_cast<const Message*>(&request);
    if (message == nullptr || message->GetDescriptor() != type_) return std::nullopt;
    // A generated class is of one type; that of dynamic messages is of many.
    if (message->GetReflection()->GetMessageFactory() ==
        google::protobuf::MessageFactory::generated_factory()) {
      class_.store(&its_class, std::memory_order_relaxed);
    }
  }
  for (size_t i = 0; i + 1 < path_.size(); ++i) {
    message = &message->GetReflection()->GetMessage(*message, path_[i]);
  }
  const FieldDescriptor* field = path_.back();
  const auto& reflection = *message->GetReflection();
  if (field->has_presence() && !reflection.HasField(*message, field)) return std::nullopt;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string scratch;  // not used: generated strings are there as such
      return HashOfText(reflection.GetStringReference(*message, field, &scratch));
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return HashOfNumber(reflection.GetBool(*message, field) ? 1 : 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      return HashOfNumber(static_cast<uint64_t>(reflection.GetEnumValue(*message, field)));
    case FieldDescriptor::CPPTYPE_INT32:
      return HashOfNumber(static_cast<uint64_t>(int64_t{reflection.GetInt32(*message, field)}));
    case FieldDescriptor::CPPTYPE_INT64:
      return HashOfNumber(static_cast<uint64_t>(reflection.GetInt64(*message, field)));
    case FieldDescriptor::CPPTYPE_UINT32:
      return HashOfNumber(reflection.GetUInt32(*message, field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return HashOfNumber(reflection.GetUInt64(*message, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return HashOfNumber(
          std::bit_cast<uint64_t>(static_cast<double>(reflection.GetFloat(*message, field))));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return HashOfNumber(std::bit_cast<uint64_t>(reflection.GetDouble(*message, field)));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return std::nullopt;
}

}  // namespace marpc
