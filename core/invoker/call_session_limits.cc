// How a call passes the limits of its own process (docs/guide/limits.md).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"
#include "marpc/invoker/call_session.h"
#include "marpc/limit/call_limits.h"

namespace marpc {

std::optional<Step> CallSession::PassLimits(const Moment& moment) {
  CallLimits* const limits = policy_->limits.get();
  if (limits == nullptr || has_place_) return std::nullopt;
  if (waiting_ != nullptr) return GoOnWaiting(moment);
  if (limits->throttle != nullptr && !limits->throttle->Admits(moment.now, moment.random)) {
    return RefuseForLimit(reason::kThrottled,
                          "its providers refuse or lose too many calls (limit.throttle)",
                          moment.now);
  }
  if (limits->rate != nullptr && !limits->rate->TryTake(moment.now)) {
    return RefuseForLimit(reason::kRateExceeded, "too many calls a second (limit.rate)", moment.now,
                          limits->rate->RetryAfter(moment.now));
  }
  if (limits->bulkhead == nullptr) return std::nullopt;
  has_place_ = limits->bulkhead->TryEnter();
  if (has_place_) return std::nullopt;
  if (limits->max_wait > absl::ZeroDuration()) waiting_ = limits->bulkhead->Queue();
  if (waiting_ != nullptr) {
    waiting_until_ = std::min(deadline_, moment.now + limits->max_wait);
    return GoOnWaiting(moment);
  }
  if (limits->rate != nullptr) limits->rate->GiveBack(moment.now);
  return RefuseForLimit(
      reason::kTooManyCalls,
      absl::StrCat("as many calls as may are under way",
                   limits->max_wait > absl::ZeroDuration() ? ", and as many wait" : "",
                   " (limit.maxConcurrent)"),
      moment.now);
}

std::optional<Step> CallSession::GoOnWaiting(const Moment& moment) {
  CallLimits& limits = *policy_->limits;
  if (waiting_->turn()->settled() ||
      (moment.now >= waiting_until_ && limits.bulkhead->StopWaiting(*waiting_))) {
    waiting_ = nullptr;
    has_place_ = true;
    return std::nullopt;
  }
  if (moment.now < waiting_until_) {
    Step step;
    step.kind = Step::Kind::kWait;
    step.deadline = waiting_until_;
    step.pending = waiting_->turn();
    return step;
  }
  waiting_ = nullptr;
  return RefuseForLimit(
      reason::kTooManyCalls,
      absl::StrCat("no other call ended within ", absl::FormatDuration(limits.max_wait),
                   " (limit.maxConcurrent, limit.maxWait)"),
      moment.now);
}

Step CallSession::RefuseForLimit(absl::string_view reason, absl::string_view why, MonotonicTime now,
                                 absl::Duration retry_after) {
  state().counters->refused_by_limit.fetch_add(1, std::memory_order_relaxed);
  return Refuse(absl::StatusCode::kResourceExhausted, reason,
                absl::StrCat(input_.method->full_name, " is not called: ", why), now, retry_after);
}

void CallSession::LeaveLimits() {
  if (waiting_ != nullptr) {
    has_place_ = policy_->limits->bulkhead->StopWaiting(*waiting_);
    waiting_ = nullptr;
  }
  if (!has_place_) return;
  has_place_ = false;
  policy_->limits->bulkhead->Leave();
}

void CallSession::TellThrottle(const AttemptOutcome& outcome, const Classification& classification,
                               MonotonicTime now) {
  if (policy_->limits == nullptr || policy_->limits->throttle == nullptr) return;
  // What was refused on this side the peer never had to decide on.
  if (outcome.source == AttemptOutcome::Source::kLocal) return;
  const bool refused = outcome.source == AttemptOutcome::Source::kPeer && outcome.surely_not_sent;
  const bool accepted =
      classification.origin != ErrorInfo::NETWORK && !refused && !outcome.pushback.has_value();
  policy_->limits->throttle->OnOutcome(accepted, now);
}

}  // namespace marpc
