// How a call ends, and in which words.
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/time_util.h"
#include "marpc/base/error.h"
#include "marpc/circuitbreaker/refusal.h"
#include "marpc/filter/guarded_filter.h"
#include "marpc/filter/stale_answers.h"
#include "marpc/invoker/call_session.h"
#include "marpc/invoker/retry_chain.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/retry/session_breaker.h"

namespace marpc {

Step CallSession::RefuseForBreaker(absl::string_view whose, MonotonicTime now) {
  CallCounters& counters = *state().counters;
  (refusal_.refusal == BreakerRefusal::kRampUp ? counters.refused_by_ramp
                                               : counters.refused_by_breaker)
      .fetch_add(1, std::memory_order_relaxed);
  return Refuse(
      absl::StatusCode::kUnavailable, ReasonOf(refusal_.refusal),
      absl::StrCat(input_.method->full_name, " was not attempted: ", whose, " ", InWords(refusal_)),
      now, refusal_.retry_after);
}

Step CallSession::RefuseForSessionBreaker(absl::Duration retry_after, MonotonicTime now) {
  state().counters->refused_by_breaker.fetch_add(1, std::memory_order_relaxed);
  return Refuse(absl::StatusCode::kUnavailable, reason::kCircuitBreakerOpen,
                absl::StrCat("a call of ", input_.method->full_name,
                             " has used up its retries; the next attempt is let through in ",
                             absl::FormatDuration(retry_after), " (retry.breaker)"),
                now, retry_after);
}

Step CallSession::RefuseForLackOfInstance(MonotonicTime now) {
  const ServiceState& service = state();
  service.counters->without_instance.fetch_add(1, std::memory_order_relaxed);
  return Refuse(
      absl::StatusCode::kUnavailable, reason::kNoAvailableInstance,
      absl::StrCat("no available instance of ", service.service,
                   service.registry.empty() ? "" : absl::StrCat(" in ", service.registry), ": ",
                   service.routes->Explain(memo_), "; ", DescribeList(service, now)),
      now);
}

Step CallSession::Refuse(absl::StatusCode code, absl::string_view reason,
                         const std::string& message, MonotonicTime now,
                         absl::Duration retry_after) {
  if (last_.has_value()) return FinishWithoutRetry(now);
  absl::Status status(code, message);
  ErrorInfo info;
  info.set_origin(ErrorInfo::FRAMEWORK);
  info.set_reason(std::string(reason));
  info.set_method(input_.method->full_name);
  if (retry_after > absl::ZeroDuration()) {
    *info.mutable_retry_after() = google::protobuf::util::TimeUtil::NanosecondsToDuration(
        absl::ToInt64Nanoseconds(retry_after));
  }
  SetErrorInfo(status, info);
  return FinishUnanswered(std::move(status), now);
}

void CallSession::GiveBackRetry(MonotonicTime now) {
  if (policy_->budget != nullptr) policy_->budget->GiveBack(withdrawal_, now);
  if (own_policies_ != nullptr) own_policies_->DropRetry();
  UnreserveInChain(*input_.context);
}

Step CallSession::FinishWithoutRetry(MonotonicTime now) {
  GiveBackRetry(now);
  spent_ = true;
  return FinishWithLast(now);
}

Step CallSession::FinishWithLast(MonotonicTime now) {
  if (last_->answered) return FinishAnswered(std::move(last_->status), now);
  return FinishUnanswered(std::move(last_->status), now);
}

Step CallSession::FinishCancelled(MonotonicTime now) {
  if (last_.has_value()) GiveBackRetry(now);
  absl::Status status = absl::CancelledError(
      absl::StrCat("the call of ", input_.method->full_name, " was cancelled by its caller"));
  log_.AddInfo(status, *input_.method, ErrorInfo::FRAMEWORK, reason::kCancelled);
  return FinishUnanswered(std::move(status), now, /*ask_fallback=*/false);
}

Step CallSession::FinishPastDeadline(MonotonicTime now) {
  return Refuse(absl::StatusCode::kDeadlineExceeded, reason::kDeadline,
                absl::StrCat("the deadline of ", input_.method->full_name,
                             " passed before an attempt could start"),
                now);
}

Step CallSession::FinishAnswered(absl::Status status, MonotonicTime now, bool good) {
  for (size_t i = filters_passed_; i-- > 0;) {
    FilterCall view = ViewFor(i, now);
    GuardedAfter(*policy_->filters[i], view, status);
  }
  if (good && policy_->stale != nullptr) {
    policy_->stale->Keep(*input_.request, *input_.context, *input_.reply, now);
  }
  return Done(std::move(status), CallReport::Answer::kRemote, now);
}

Step CallSession::FinishUnanswered(absl::Status status, MonotonicTime now, bool ask_fallback) {
  AbandonFilters(status, now);
  if (ask_fallback && policy_->stale != nullptr &&
      policy_->stale->Answer(*input_.request, *input_.context, input_.reply, now)) {
    state().counters->stale_answers.fetch_add(1, std::memory_order_relaxed);
    return Done(absl::OkStatus(), CallReport::Answer::kStale, now);
  }
  const bool has_fallback =
      policy_->fallback != nullptr || policy_->settings.fallback_reply.has_value();
  if (!ask_fallback || !has_fallback) {
    if (ask_fallback) PutInConfiguredWords(status);
    return Done(std::move(status), CallReport::Answer::kNone, now);
  }
  absl::Status answer = AskFallback(*policy_, *input_.request, status, input_.reply);
  if (answer.ok()) state().counters->fallback_answers.fetch_add(1, std::memory_order_relaxed);
  return Done(std::move(answer), CallReport::Answer::kFallback, now);
}

void CallSession::AbandonFilters(const absl::Status& status, MonotonicTime now) {
  for (size_t i = filters_passed_; i-- > 0;) {
    FilterCall view = ViewFor(i, now);
    view.out_of_time = out_of_time_;
    GuardedAbandoned(*policy_->filters[i], view, status);
  }
  filters_passed_ = 0;
}

Step CallSession::Done(absl::Status status, CallReport::Answer answer, MonotonicTime now) {
  done_ = true;
  LeaveLimits();
  // Attempts that have lost against another one say nothing about their peers.
  for (const InFlight& attempt : in_flight_) {
    TellBreakers(attempt, Classification::Health::kUnknown, now);
    TellBalancer(attempt, AttemptEnd::Result::kGivenUp, now);
    if (input_.report != nullptr) {
      log_.Add({attempt.instance, now - attempt.started_at, absl::CancelledError("overtaken"),
                "another attempt was answered first"});
    }
  }
  in_flight_.clear();
  if (spent_ && attempts_made_ > 0 && policy_->session_breaker != nullptr) {
    policy_->session_breaker->Open(now);
  }
  if (own_policies_ != nullptr) {
    own_policies_->Close(spent_, std::string(status.message()));
  }
  if (input_.answer != nullptr) *input_.answer = answer;
  if (input_.report != nullptr) {
    input_.report->answer = answer;
    log_.Fill(*input_.report);
  }
  Step step;
  step.kind = Step::Kind::kDone;
  step.status = std::move(status);
  return step;
}

}  // namespace marpc
