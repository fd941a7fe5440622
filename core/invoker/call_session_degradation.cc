// Calls that are not made at the level of their service, and what callers are told
// (docs/guide/degradation.md).
#include "absl/strings/cord.h"
#include "google/protobuf/util/time_util.h"
#include "marpc/base/error.h"
#include "marpc/degradation/degradation.h"
#include "marpc/degradation/degradation_levels.h"
#include "marpc/invoker/call_session.h"

namespace marpc {

DegradationLevel CallSession::level() const {
  const DegradationSwitch* degradation = state().degradation.get();
  return degradation == nullptr ? DegradationLevel::kNormal : degradation->level();
}

bool CallSession::IsMadeAt(DegradationLevel level) const {
  return IsMade(level, policy_->settings.degradation.importance);
}

Step CallSession::RefuseForDegradation(DegradationLevel level, MonotonicTime now) {
  if (last_.has_value()) {
    // Not spent: what was switched off is no reason to leave the peer alone (retry.breaker).
    GiveBackRetry(now);
    return FinishWithLast(now);
  }
  CallCounters& counters = *state().counters;
  counters.refused_by_degradation.fetch_add(1, std::memory_order_relaxed);
  const DegradationSettings& settings = policy_->settings.degradation;
  Step step = Refuse(absl::StatusCode::kUnavailable, reason::kDegraded,
                     WhyNotMade(*input_.method, settings, level), now, settings.retry_after);
  if (step.status.ok()) counters.degraded_answers.fetch_add(1, std::memory_order_relaxed);
  return step;
}

void CallSession::PutInConfiguredWords(absl::Status& status) const {
  const DegradationSettings& settings = policy_->settings.degradation;
  if (settings.message.empty() || others_words_) return;
  std::optional<ErrorInfo> info = GetErrorInfo(status);
  // What is broken in the program's own code is no refusal of marpc's.
  if (!info.has_value() || info->reason() == reason::kInternal) return;
  absl::Status told(status.code(), settings.message);
  status.ForEachPayload(
      [&](absl::string_view type, const absl::Cord& payload) { told.SetPayload(type, payload); });
  if (!info->has_retry_after() && settings.retry_after > absl::ZeroDuration()) {
    *info->mutable_retry_after() = google::protobuf::util::TimeUtil::NanosecondsToDuration(
        absl::ToInt64Nanoseconds(settings.retry_after));
  }
  SetErrorInfo(told, *info);
  status = std::move(told);
}

}  // namespace marpc
