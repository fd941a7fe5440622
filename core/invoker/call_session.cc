#include "marpc/invoker/call_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/time_util.h"
#include "marpc/base/error.h"
#include "marpc/observe/log.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/retry/retry_throttle.h"

namespace marpc {
namespace {

google::protobuf::Duration ToProto(absl::Duration d) {
  return google::protobuf::util::TimeUtil::NanosecondsToDuration(absl::ToInt64Nanoseconds(d));
}

std::string AgeInWords(absl::Duration age) {
  if (age < absl::Milliseconds(1)) return "less than 1ms";
  return absl::FormatDuration(absl::Trunc(age, absl::Milliseconds(1)));
}

absl::string_view SourceInWords(ServiceSnapshot::Source source) {
  switch (source) {
    case ServiceSnapshot::Source::kKept:
      return ", kept while the registry gives no better one";
    case ServiceSnapshot::Source::kDisk:
      return ", read from the snapshot on disk";
    case ServiceSnapshot::Source::kRegistry:
      break;
  }
  return "";
}

}  // namespace

CallSession::CallSession(const SnapshotCell<ServiceState>& cell, const CallInput& input)
    : cell_(cell), input_(input) {}

CallSession::~CallSession() {
  if (done_ || policy_ == nullptr) return;
  if (permit_out_) policy_->breaker->Release(permit_);
  AbandonFilters(absl::CancelledError("dropped"), MonotonicTime());
}

Step CallSession::Start(const Moment& moment) {
  states_.push_back(cell_.Load());
  if (!state().unusable.ok()) return Done(state().unusable, CallReport::Answer::kNone);
  policy_ = state().methods[input_.method->ordinal].get();
  deadline_ = std::min(input_.deadline, input_.context->deadline());
  const absl::Duration total = policy_->settings.retry.total_timeout;
  if (total > absl::ZeroDuration()) deadline_ = std::min(deadline_, moment.now + total);
  filter_states_.resize(policy_->filters.size());
  return RunFilters(moment);
}

FilterCall CallSession::ViewFor(size_t filter, MonotonicTime now) {
  return FilterCall{*input_.method,  *input_.request,       input_.reply,
                    *input_.context, policy_->settings,     now,
                    deadline_,       filter_states_[filter]};
}

Step CallSession::RunFilters(const Moment& moment) {
  for (; filters_passed_ < policy_->filters.size(); ++filters_passed_) {
    FilterCall view = ViewFor(filters_passed_, moment.now);
    Filter::Verdict verdict = policy_->filters[filters_passed_]->Before(view);
    if (verdict.kind == Filter::Verdict::Kind::kContinue) continue;
    if (verdict.kind == Filter::Verdict::Kind::kAnswer) {
      AbandonFilters(absl::CancelledError("answered by another filter"), moment.now);
      return Done(std::move(verdict.status), verdict.answer);
    }
    Step step;
    step.kind = Step::Kind::kWait;
    step.pending = std::move(verdict.pending);
    step.deadline = deadline_;
    return step;
  }
  if (policy_->budget != nullptr) policy_->budget->Deposit(moment.now);
  return NextAttempt(moment);
}

Step CallSession::OnWaited(const Moment& moment) {
  if (cancelled()) return FinishCancelled(moment.now);
  if (moment.now >= deadline_) return FinishPastDeadline(moment.now);
  if (!backing_off_) return RunFilters(moment);
  if (moment.now < retry_at_) return BackOff(retry_at_);
  backing_off_ = false;
  return Retry(moment);
}

Step CallSession::BackOff(MonotonicTime until) {
  backing_off_ = true;
  retry_at_ = until;
  Step step;
  step.kind = Step::Kind::kWait;
  step.deadline = until;
  return step;
}

Step CallSession::Retry(const Moment& moment) {
  // The list may have changed since: a retry sees the newest.
  std::shared_ptr<const ServiceState> newest = cell_.Load();
  if (newest != states_.back()) states_.push_back(std::move(newest));
  if (!state().unusable.ok()) return FinishWithoutRetry(moment.now);
  return NextAttempt(moment);
}

// Everything is asked at the moment the attempt starts: what was true before a backoff may no
// longer be.
Step CallSession::NextAttempt(const Moment& moment) {
  if (cancelled()) return FinishCancelled(moment.now);
  if (moment.now >= deadline_) return FinishPastDeadline(moment.now);
  if (policy_->breaker != nullptr) {
    const CircuitBreaker::Admission admission = policy_->breaker->TryAcquire(moment.now);
    if (!admission.allowed) return RefuseForBreaker(admission, moment.now);
    permit_ = admission.permit;
    permit_out_ = true;
  }
  LiveInstance* picked = PickInstance(moment);
  if (picked == nullptr) {
    TellBreaker(Classification::Health::kUnknown, moment.now);
    return RefuseForLackOfInstance(moment.now);
  }
  current_ = picked;
  attempt_started_ = moment.now;
  Step step;
  step.kind = Step::Kind::kAttempt;
  step.instance = current_;
  const absl::Duration timeout = policy_->settings.retry.timeout;
  step.deadline =
      timeout > absl::ZeroDuration() ? std::min(moment.now + timeout, deadline_) : deadline_;
  step.previous_attempts = attempts_made_++;
  if (attempts_made_ > 1) state().counters->retries.fetch_add(1, std::memory_order_relaxed);
  return step;
}

LiveInstance* CallSession::PickInstance(const Moment& moment) {
  const ServiceState& service = state();
  if (current_ != nullptr && !policy_->settings.retry.switch_instance_on_retry) {
    for (const Candidate& candidate : service.candidates) {
      if (candidate.live == current_) return current_;
    }
  }
  const RouteQuery route{*input_.method, *input_.context, moment.random};
  const bool any_unreachable =
      service.counters->unreachable_instances.load(std::memory_order_relaxed) > 0;
  const auto pick = [&] {
    const RouteTree::Picked picked = service.routes->Pick(
        route, PickQuery{tried_, moment.random, moment.now, any_unreachable}, memo_);
    if (picked.fell_back)
      service.counters->router_fallbacks.fetch_add(1, std::memory_order_relaxed);
    return picked.instance;
  };
  LiveInstance* instance = pick();
  // All were tried: start over, but for the one that failed just now if there is another.
  if (instance == nullptr && tried_.size() > 1) {
    tried_.erase(tried_.begin(), tried_.end() - 1);
    instance = pick();
  }
  if (instance == nullptr && !tried_.empty()) {
    tried_.clear();
    instance = pick();
  }
  return instance;
}

void CallSession::NoteReachable(bool reachable, MonotonicTime now) {
  std::atomic<int>& unreachable = state().counters->unreachable_instances;
  if (!reachable) {
    if (current_->OnUnreachable(now)) unreachable.fetch_add(1, std::memory_order_relaxed);
  } else if (unreachable.load(std::memory_order_relaxed) > 0 && current_->OnReachable()) {
    unreachable.fetch_sub(1, std::memory_order_relaxed);
  }
}

Step CallSession::OnAttemptDone(AttemptOutcome outcome, const Moment& moment) {
  if (!outcome.status.ok()) return OnFailure(std::move(outcome), moment);
  NoteReachable(true, moment.now);
  TellBreaker(Classification::Health::kGood, moment.now);
  if (policy_->throttle != nullptr) policy_->throttle->OnSuccess();
  if (input_.report != nullptr) Record(absl::OkStatus(), "answered", moment.now);
  return FinishAnswered(absl::OkStatus(), moment.now);
}

Step CallSession::OnFailure(AttemptOutcome outcome, const Moment& moment) {
  const RetrySettings& settings = policy_->settings.retry;
  const Classification classification = Classify(outcome, settings, policy_->idempotent);
  TellBreaker(classification.health, moment.now);
  if (outcome.source == AttemptOutcome::Source::kNetwork) {
    NoteReachable(false, moment.now);
  } else if (classification.health == Classification::Health::kGood) {
    NoteReachable(true, moment.now);
  }
  if (std::find(tried_.begin(), tried_.end(), current_) == tried_.end()) tried_.push_back(current_);

  const bool told_not_to = outcome.pushback.has_value() && *outcome.pushback < absl::ZeroDuration();
  if (policy_->throttle != nullptr && (classification.retryable || told_not_to)) {
    policy_->throttle->OnFailure();
  }
  absl::Duration delay;
  const absl::string_view why_not = WhyNoRetry(classification, outcome, moment, delay);
  Record(outcome.status, why_not.empty() ? classification.why : why_not, moment.now);
  last_error_ = Describe(outcome, classification);
  if (!why_not.empty()) {
    const bool business = classification.origin == ErrorInfo::BUSINESS;
    if (business) return FinishAnswered(std::move(last_error_), moment.now);
    return FinishUnanswered(std::move(last_error_), moment.now,
                            outcome.source != AttemptOutcome::Source::kLocal);
  }
  if (const auto logger = Logger(); logger->should_log(spdlog::level::info)) {
    logger->info(
        "event=retry method={} attempt={} next={} delay={} instance={} code={} reason=\"{}\"",
        input_.method->full_name, attempts_made_, attempts_made_ + 1, absl::FormatDuration(delay),
        current_->endpoint().ToString(), absl::StatusCodeToString(outcome.status.code()),
        std::string(classification.why));
  }
  return delay > absl::ZeroDuration() ? BackOff(moment.now + delay) : Retry(moment);
}

absl::string_view CallSession::WhyNoRetry(const Classification& classification,
                                          const AttemptOutcome& outcome, const Moment& moment,
                                          absl::Duration& delay) {
  const RetrySettings& settings = policy_->settings.retry;
  if (!classification.retryable) return classification.why;
  if (attempts_made_ > settings.max_retries) return "no retry left (retry.maxRetries)";
  if (outcome.pushback.has_value() && *outcome.pushback < absl::ZeroDuration()) {
    return "the peer asked not to retry";
  }
  delay = outcome.pushback.has_value()
              ? *outcome.pushback
              : BackoffDelay(settings.backoff, attempts_made_, moment.random, backoff_memory_);
  if (moment.now + delay >= deadline_) return "the next attempt could not end before the deadline";
  if (policy_->throttle != nullptr && !policy_->throttle->AllowsRetry()) {
    state().counters->retries_refused_by_throttle.fetch_add(1, std::memory_order_relaxed);
    return "too many calls fail (retry.throttle)";
  }
  if (policy_->budget != nullptr && !policy_->budget->TryWithdraw(moment.now)) {
    state().counters->retries_refused_by_budget.fetch_add(1, std::memory_order_relaxed);
    return "the retry budget is spent (retry.budget)";
  }
  return "";
}

void CallSession::TellBreaker(Classification::Health health, MonotonicTime now) {
  if (!permit_out_) return;
  permit_out_ = false;
  switch (health) {
    case Classification::Health::kGood:
      return policy_->breaker->OnSuccess(permit_, now);
    case Classification::Health::kBad:
      return policy_->breaker->OnFailure(permit_, now);
    case Classification::Health::kUnknown:
      return policy_->breaker->Release(permit_);
  }
}

Step CallSession::RefuseForBreaker(const CircuitBreaker::Admission& admission, MonotonicTime now) {
  state().counters->refused_by_breaker.fetch_add(1, std::memory_order_relaxed);
  const bool probing = admission.retry_after == absl::ZeroDuration();
  return Refuse(absl::StatusCode::kUnavailable, reason::kCircuitBreakerOpen,
                absl::StrCat("the circuit breaker of ", input_.method->full_name, " is ",
                             BreakerStateName(policy_->breaker->state()), "; ",
                             probing ? "a probe is on its way"
                                     : absl::StrCat("a probe is let through in ",
                                                    absl::FormatDuration(admission.retry_after))),
                now, admission.retry_after);
}

Step CallSession::RefuseForLackOfInstance(MonotonicTime now) {
  const ServiceState& service = state();
  service.counters->without_instance.fetch_add(1, std::memory_order_relaxed);
  return Refuse(
      absl::StatusCode::kUnavailable, reason::kNoAvailableInstance,
      absl::StrCat("no available instance of ", service.service, ": ",
                   service.routes->Explain(memo_), "; the list is ",
                   AgeInWords(now - service.confirmed_at), " old", SourceInWords(service.source)),
      now);
}

Step CallSession::Refuse(absl::StatusCode code, absl::string_view reason,
                         const std::string& message, MonotonicTime now,
                         absl::Duration retry_after) {
  if (!last_error_.ok()) return FinishWithoutRetry(now);
  absl::Status status(code, message);
  ErrorInfo info;
  info.set_origin(ErrorInfo::FRAMEWORK);
  info.set_reason(std::string(reason));
  info.set_method(input_.method->full_name);
  if (retry_after > absl::ZeroDuration()) *info.mutable_retry_after() = ToProto(retry_after);
  SetErrorInfo(status, info);
  return FinishUnanswered(std::move(status), now);
}

// The retry was decided, and does not happen after all.
Step CallSession::FinishWithoutRetry(MonotonicTime now) {
  if (policy_->budget != nullptr) policy_->budget->GiveBack(now);
  return FinishUnanswered(std::move(last_error_), now);
}

Step CallSession::FinishCancelled(MonotonicTime now) {
  if (!last_error_.ok() && policy_->budget != nullptr) policy_->budget->GiveBack(now);
  absl::Status status = absl::CancelledError(
      absl::StrCat("the call of ", input_.method->full_name, " was cancelled by its caller"));
  AddInfo(status, ErrorInfo::FRAMEWORK, reason::kCancelled);
  return FinishUnanswered(std::move(status), now, /*ask_fallback=*/false);
}

Step CallSession::FinishPastDeadline(MonotonicTime now) {
  return Refuse(absl::StatusCode::kDeadlineExceeded, reason::kDeadline,
                absl::StrCat("the deadline of ", input_.method->full_name,
                             " passed before an attempt could start"),
                now);
}

Step CallSession::FinishAnswered(absl::Status status, MonotonicTime now) {
  for (size_t i = filters_passed_; i-- > 0;) {
    FilterCall view = ViewFor(i, now);
    policy_->filters[i]->After(view, status);
  }
  return Done(std::move(status), CallReport::Answer::kRemote);
}

Step CallSession::FinishUnanswered(absl::Status status, MonotonicTime now, bool ask_fallback) {
  AbandonFilters(status, now);
  if (!ask_fallback || policy_->fallback == nullptr) {
    return Done(std::move(status), CallReport::Answer::kNone);
  }
  state().counters->fallback_answers.fetch_add(1, std::memory_order_relaxed);
  absl::Status answer = policy_->fallback(*input_.method, *input_.request, status, input_.reply);
  return Done(std::move(answer), CallReport::Answer::kFallback);
}

void CallSession::AbandonFilters(const absl::Status& status, MonotonicTime now) {
  for (size_t i = filters_passed_; i-- > 0;) {
    FilterCall view = ViewFor(i, now);
    policy_->filters[i]->Abandoned(view, status);
  }
  filters_passed_ = 0;
}

Step CallSession::Done(absl::Status status, CallReport::Answer answer) {
  done_ = true;
  if (input_.report != nullptr) {
    input_.report->answer = answer;
    input_.report->attempts.clear();
    for (const Attempt& attempt : attempts_) input_.report->attempts.push_back(ToInfo(attempt));
  }
  Step step;
  step.kind = Step::Kind::kDone;
  step.status = std::move(status);
  return step;
}

absl::Status CallSession::Describe(const AttemptOutcome& outcome,
                                   const Classification& classification) const {
  absl::Status status = outcome.status;
  if (classification.origin != ErrorInfo::BUSINESS) {
    const int retries = attempts_made_ - 1;
    status = absl::Status(
        outcome.status.code(),
        absl::StrCat("call of ", input_.method->full_name, " failed",
                     retries > 0 ? absl::StrCat(", retried ", retries, " times") : "", ": ",
                     current_->endpoint().ToString(), ": ", outcome.status.message()));
  }
  AddInfo(status, classification.origin, classification.reason);
  return status;
}

void CallSession::AddInfo(absl::Status& status, ErrorInfo::Origin origin,
                          absl::string_view reason) const {
  ErrorInfo info;
  info.set_origin(origin);
  info.set_reason(std::string(reason));
  info.set_method(input_.method->full_name);
  for (const Attempt& attempt : attempts_) *info.add_attempts() = ToInfo(attempt);
  SetErrorInfo(status, info);
}

void CallSession::Record(absl::Status status, absl::string_view verdict, MonotonicTime now) {
  attempts_.push_back(
      {current_, attempt_started_, now - attempt_started_, std::move(status), verdict});
}

AttemptInfo CallSession::ToInfo(const Attempt& attempt) const {
  AttemptInfo info;
  info.set_instance(attempt.instance->endpoint().ToString());
  info.set_code(static_cast<int>(attempt.status.code()));
  info.set_message(std::string(attempt.status.message()));
  *info.mutable_latency() = ToProto(attempt.latency);
  info.set_verdict(std::string(attempt.verdict));
  return info;
}

}  // namespace marpc
