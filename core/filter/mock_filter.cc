#include "marpc/filter/mock_filter.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message_lite.h"
#include "marpc/base/error.h"
#include "marpc/filter/reply_json.h"

namespace marpc {
namespace {

constexpr absl::string_view kReplyKey = "filter.mock.reply";

absl::Status Mocked(absl::Status status) {
  ErrorInfo info;
  info.set_origin(ErrorInfo::BUSINESS);
  info.set_reason(std::string(reason::kMocked));
  SetErrorInfo(status, info);
  return status;
}

}  // namespace

absl::Status MockFilter::Check(const Method& method, const MockSettings& settings) {
  if (!settings.reply.has_value()) return absl::OkStatus();
  if (settings.code.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "filter.mock of ", method.full_name, " has both a reply and a code; keep one of them"));
  }
  return CheckReplyJson(*settings.reply, kReplyKey, method);
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
    return Verdict::Answer(FillFromJson(*yaml.reply, kReplyKey, call.method, call.reply), kBy);
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
