#include "marpc/filter/reply_json.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/json_util.h"

namespace marpc {

absl::Status FillFromJson(const std::string& json, absl::string_view key, const Method& method,
                          google::protobuf::MessageLite* reply) {
  // JSON needs reflection, which a message of the lite runtime has not.
  auto* message = dynamic_cast<google::protobuf::Message*>(reply);
  if (message == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        key, " of ", method.full_name, ": ", reply->GetTypeName(),
        " is a message of protobuf's lite runtime, which has no JSON form; answer it in code"));
  }
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, message);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(key, " of ", method.full_name, " is no JSON of ",
                                                   message->GetTypeName(), ": ",
                                                   std::string(parsed.message())));
  }
  return absl::OkStatus();
}

absl::Status CheckReplyJson(const std::string& json, absl::string_view key, const Method& method) {
  if (method.reply_prototype == nullptr) return absl::OkStatus();
  const std::unique_ptr<google::protobuf::MessageLite> reply(method.reply_prototype->New());
  return FillFromJson(json, key, method, reply.get());
}

}  // namespace marpc
