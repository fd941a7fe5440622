#include "marpc/invoker/attempt_log.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/time_util.h"

namespace marpc {
namespace {

AttemptInfo ToInfo(const AttemptLog::Entry& entry) {
  AttemptInfo info;
  info.set_instance(entry.instance->endpoint().ToString());
  info.set_code(static_cast<int>(entry.status.code()));
  info.set_message(std::string(entry.status.message()));
  *info.mutable_latency() = google::protobuf::util::TimeUtil::NanosecondsToDuration(
      absl::ToInt64Nanoseconds(entry.latency));
  info.set_verdict(std::string(entry.verdict));
  info.set_not_executed(entry.not_executed);
  return info;
}

}  // namespace

absl::Status AttemptLog::Describe(const Method& method, const AttemptOutcome& outcome,
                                  const Classification& classification, int retries) const {
  absl::Status status = outcome.status;
  if (classification.origin != ErrorInfo::BUSINESS) {
    status =
        absl::Status(outcome.status.code(),
                     absl::StrCat("call of ", method.full_name, " failed",
                                  retries > 0 ? absl::StrCat(", retried ", retries, " times") : "",
                                  ": ", entries_.back().instance->endpoint().ToString(), ": ",
                                  outcome.status.message()));
  }
  AddInfo(status, method, classification.origin, classification.reason);
  return status;
}

void AttemptLog::AddInfo(absl::Status& status, const Method& method, ErrorInfo::Origin origin,
                         absl::string_view reason) const {
  ErrorInfo info;
  info.set_origin(origin);
  info.set_reason(std::string(reason));
  info.set_method(method.full_name);
  for (const Entry& entry : entries_) *info.add_attempts() = ToInfo(entry);
  SetErrorInfo(status, info);
}

void AttemptLog::Fill(CallReport& report) const {
  report.attempts.clear();
  for (const Entry& entry : entries_) report.attempts.push_back(ToInfo(entry));
}

}  // namespace marpc
