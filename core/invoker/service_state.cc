#include "marpc/invoker/service_state.h"

#include "absl/strings/str_cat.h"
#include "marpc/base/user_code.h"
#include "marpc/filter/reply_json.h"

namespace marpc {
namespace {

std::string AgeInWords(absl::Duration age) {
  if (age < absl::Milliseconds(1)) return "less than 1ms";
  return absl::FormatDuration(absl::Trunc(age, absl::Milliseconds(1)));
}

}  // namespace

std::string DescribeList(const ServiceState& state, MonotonicTime now) {
  absl::string_view why;
  switch (state.source) {
    case ServiceSnapshot::Source::kRegistry:
      return "the registry is connected";
    case ServiceSnapshot::Source::kKept:
      why = "kept while the registry gives no better one";
      break;
    case ServiceSnapshot::Source::kDisk:
      why = "read from the snapshot on disk";
      break;
  }
  return absl::StrCat("the list is ", AgeInWords(now - state.confirmed_at), " old, ", why);
}

absl::Status AskFallback(const MethodPolicy& policy, const google::protobuf::MessageLite& request,
                         const absl::Status& error, google::protobuf::MessageLite* reply) {
  absl::Status answer = error;
  if (policy.fallback != nullptr) {
    try {
      answer = policy.fallback(*policy.method, request, error, reply);
    } catch (...) {
      answer = StatusOfException(absl::StrCat("the fallback '", policy.settings.fallback, "' of ",
                                              policy.method->full_name));
    }
  }
  if (answer.ok() || !policy.settings.fallback_reply.has_value()) return answer;
  return FillFromJson(*policy.settings.fallback_reply, "fallbackReply", *policy.method, reply);
}

}  // namespace marpc
