#include "marpc/filter/mock_filter.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/json_util.h"
#include "marpc/base/error.h"

namespace marpc {
namespace {

absl::Status Mocked(absl::Status status) {
  ErrorInfo info;
  info.set_origin(ErrorInfo::BUSINESS);
  info.set_reason(std::string(reason::kMocked));
  SetErrorInfo(status, info);
  return status;
}

absl::Status FillFromJson(const std::string& json, google::protobuf::MessageLite* reply,
                          const Method& method) {
  // JSON needs reflection, which a message of the lite runtime has not.
  auto* message = dynamic_cast<google::protobuf::Message*>(reply);
  if (message == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "filter.mock.reply of ", method.full_name, ": ", reply->GetTypeName(),
        " is a message of protobuf's lite runtime, which has no JSON form; mock it in code"));
  }
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, message);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("filter.mock.reply of ", method.full_name,
                                                   " is no JSON of ", message->GetTypeName(), ": ",
                                                   std::string(parsed.message())));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MockFilter::Check(const Method& method, const MockSettings& settings) {
  if (!settings.reply.has_value()) return absl::OkStatus();
  if (settings.code.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "filter.mock of ", method.full_name, " has both a reply and a code; keep one of them"));
  }
  if (method.reply_prototype == nullptr) return absl::OkStatus();
  const std::unique_ptr<google::protobuf::MessageLite> reply(method.reply_prototype->New());
  return FillFromJson(*settings.reply, reply.get(), method);
}

Filter::Verdict MockFilter::Before(FilterCall& call) {
  Answer answer;
  {
    absl::ReaderMutexLock lock(&mutex_);
    auto it = answers_.find(call.method.full_name);
    if (it == answers_.end()) it = answers_.find(call.method.name);
    if (it != answers_.end()) answer = it->second;
  }
  constexpr auto kBy = CallReport::Answer::kMock;
  if (answer != nullptr) return Verdict::Answer(answer(call.reply), kBy);
  const MockSettings& yaml = call.settings.mock;
  if (yaml.code.has_value() && *yaml.code != absl::StatusCode::kOk) {
    return Verdict::Answer(Mocked(absl::Status(*yaml.code, yaml.message)), kBy);
  }
  if (yaml.reply.has_value()) {
    return Verdict::Answer(FillFromJson(*yaml.reply, call.reply, call.method), kBy);
  }
  return Verdict::Continue();
}

void MockFilter::Set(absl::string_view method, Answer answer) {
  absl::MutexLock lock(&mutex_);
  answers_[std::string(method)] = std::move(answer);
}

void MockFilter::Reply(absl::string_view method, const google::protobuf::MessageLite& reply) {
  Set(method,
      [bytes = reply.SerializeAsString(),
       type = reply.GetTypeName()](google::protobuf::MessageLite* out) -> absl::Status {
        if (out->GetTypeName() != type || !out->ParseFromString(bytes)) {
          return absl::InternalError(absl::StrCat("the mock for this method answers with a ", type,
                                                  ", but the method's reply is a ",
                                                  out->GetTypeName()));
        }
        return absl::OkStatus();
      });
}

void MockFilter::Fail(absl::string_view method, absl::Status status) {
  Set(method,
      [status = Mocked(std::move(status))](google::protobuf::MessageLite*) { return status; });
}

void MockFilter::Clear() {
  absl::MutexLock lock(&mutex_);
  answers_.clear();
}

}  // namespace marpc
