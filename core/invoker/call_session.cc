#include "marpc/invoker/call_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"
#include "marpc/circuitbreaker/failure_judge.h"
#include "marpc/filter/guarded_filter.h"
#include "marpc/invoker/retry_chain.h"
#include "marpc/observe/log.h"
#include "marpc/retry/hedging.h"
#include "marpc/retry/result_rule.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/retry/retry_throttle.h"
#include "marpc/retry/session_breaker.h"

namespace marpc {
namespace {

// A peer that asks for a longer wait asks for none: nobody waits for an answer that long.
constexpr absl::Duration kLongestPushback = absl::Minutes(1);

void Count(std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

// What a failure is to balancers. One that turns calls away is no better than a slow one.
AttemptEnd::Result ResultOf(const AttemptOutcome& outcome, const Classification& classification) {
  if (outcome.source == AttemptOutcome::Source::kLocal) return AttemptEnd::Result::kGivenUp;
  return classification.health == Classification::Health::kGood ? AttemptEnd::Result::kAnswered
                                                                : AttemptEnd::Result::kFailed;
}

}  // namespace

CallSession::CallSession(const SnapshotCell<ServiceState>& cell, const CallInput& input)
    : cell_(cell), input_(input) {}

CallSession::~CallSession() {
  if (done_ || policy_ == nullptr) return;
  for (const InFlight& attempt : in_flight_) {
    TellBreakers(attempt, Classification::Health::kUnknown, MonotonicTime());
    TellBalancer(attempt, AttemptEnd::Result::kGivenUp, attempt.started_at);
  }
  AbandonFilters(absl::CancelledError("dropped"), MonotonicTime());
  LeaveLimits();
}

Step CallSession::Start(const Moment& moment) {
  states_.push_back(cell_.Load());
  if (state().closed) {
    return Done(state().unusable, CallReport::Answer::kNone, moment.now);
  }
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
    Filter::Verdict verdict = GuardedBefore(*policy_->filters[filters_passed_], view);
    if (verdict.kind == Filter::Verdict::Kind::kContinue) continue;
    if (verdict.kind == Filter::Verdict::Kind::kAnswer) {
      AbandonFilters(absl::CancelledError("answered by another filter"), moment.now);
      return Done(std::move(verdict.status), verdict.answer, moment.now);
    }
    if (verdict.kind == Filter::Verdict::Kind::kFail) {
      others_words_ = true;
      return FinishUnanswered(std::move(verdict.status), moment.now);
    }
    Step step;
    step.kind = Step::Kind::kWait;
    step.pending = std::move(verdict.pending);
    step.deadline = deadline_;
    return step;
  }
  const DegradationLevel now_at = level();
  if (!IsMadeAt(now_at)) return RefuseForDegradation(now_at, moment.now);
  if (std::optional<Step> step = PassLimits(moment)) return *std::move(step);
  if (policy_->budget != nullptr) policy_->budget->Deposit(moment.now);
  if (policy_->hedging != nullptr) policy_->hedging->OnCall(moment.now);
  if (!policy_->retry_policies.empty() || !policy_->retry_listeners.empty()) {
    own_policies_ = std::make_unique<SessionPolicies>(
        policy_->retry_policies, policy_->retry_listeners,
        RetryContext(input_.method->full_name, moment.now, deadline_, moment.random));
    std::optional<SessionPolicies::Refusal> refusal = own_policies_->Open();
    if (refusal.has_value()) {
      spent_ = !refusal->vetoed;
      others_words_ = true;
      return FinishUnanswered(std::move(refusal->status), moment.now,
                              /*ask_fallback=*/!refusal->vetoed);
    }
    deadline_ = std::min(deadline_, own_policies_->deadline());
  }
  if (policy_->wants_hash) FindHash();
  return NextAttempt(moment);
}

Step CallSession::OnWaited(const Moment& moment) {
  if (own_policies_ != nullptr) own_policies_->At(moment.now, moment.random);
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
  const DegradationLevel now_at = level();
  if (!IsMadeAt(now_at)) return RefuseForDegradation(now_at, moment.now);
  return NextAttempt(moment);
}

// Everything is asked at the moment the attempt starts: what was true before a backoff may no
// longer be.
Step CallSession::NextAttempt(const Moment& moment) {
  if (cancelled()) return FinishCancelled(moment.now);
  if (moment.now >= deadline_) return FinishPastDeadline(moment.now);
  if (!state().unusable.ok()) {
    if (last_.has_value()) return FinishWithoutRetry(moment.now);
    return FinishUnanswered(state().unusable, moment.now, /*ask_fallback=*/!state().closed);
  }
  if (policy_->session_breaker != nullptr && attempts_made_ == 0) {
    const absl::Duration retry_after = policy_->session_breaker->RetryAfter(moment.now);
    if (retry_after > absl::ZeroDuration()) return RefuseForSessionBreaker(retry_after, moment.now);
  }
  InFlight attempt;
  if (!AcquireShared(attempt, moment.now)) {
    return RefuseForBreaker(absl::StrCat("the circuit breaker of ", *refused_by_), moment.now);
  }
  bool admitted = false;
  try {
    admitted = PickAdmitted(attempt, moment);
  } catch (...) {
    TellBreakers(attempt, Classification::Health::kUnknown, moment.now);
    throw;
  }
  if (!admitted) {
    TellBreakers(attempt, Classification::Health::kUnknown, moment.now);
    if (refusal_.refusal == BreakerRefusal::kNone) return RefuseForLackOfInstance(moment.now);
    return RefuseForBreaker(
        absl::StrCat("the circuit breaker of every instance of ", input_.method->full_name),
        moment.now);
  }
  // No other may be called: one more request would only add to what it cannot bear.
  if (last_.has_value() && attempt.instance == overloaded_) {
    TellBreakers(attempt, Classification::Health::kUnknown, moment.now);
    return FinishWithoutRetry(moment.now);
  }
  if (last_.has_value()) Count(state().counters->retries);
  return Begin(attempt, moment.now);
}

Step CallSession::Begin(InFlight attempt, MonotonicTime now) {
  attempt.number = attempts_made_++;
  attempt.started_at = now;
  Step step;
  step.kind = Step::Kind::kAttempt;
  step.instance = attempt.instance;
  step.attempt = attempt.number;
  const absl::Duration timeout = policy_->settings.retry.timeout;
  step.deadline = timeout > absl::ZeroDuration() ? std::min(now + timeout, deadline_) : deadline_;
  if (policy_->hedging != nullptr && !hedges_forbidden_ &&
      hedges_made_ < policy_->hedging->max_hedges()) {
    step.hedge_at = now + policy_->hedging->Delay(now);
  }
  if (state().counters->unreachable_instances.load(std::memory_order_relaxed) > 0) {
    attempt.trial = attempt.instance->OnAttempt(now);
  }
  in_flight_.push_back(attempt);
  if (attempt.listener != nullptr) attempt.listener->OnBegin(*attempt.instance);
  if (own_policies_ != nullptr) own_policies_->OnAttempt(attempt.number, step.deadline);
  return step;
}

Step CallSession::OnHedgeTime(const Moment& moment) {
  if (own_policies_ != nullptr) own_policies_->At(moment.now, moment.random);
  Step step;
  if (TryHedge(moment, step)) return step;
  step.kind = Step::Kind::kGoOn;
  return step;
}

bool CallSession::TryHedge(const Moment& moment, Step& step) {
  Hedging* hedging = policy_->hedging.get();
  if (hedging == nullptr || hedges_made_ >= hedging->max_hedges() || done_) return false;
  if (hedges_forbidden_ || !IsMadeAt(level())) return false;
  if (cancelled() || moment.now >= deadline_ || !state().unusable.ok()) return false;
  if (!ChainRefusal(policy_->settings.retry.chain, *input_.context).empty()) return false;
  if (policy_->throttle != nullptr && !policy_->throttle->AllowsRetry()) {
    Count(state().counters->hedges_refused);
    return false;
  }
  InFlight attempt;
  attempt.hedge = true;
  if (!PickAdmitted(attempt, moment) || !AcquireShared(attempt, moment.now)) {
    TellBreakers(attempt, Classification::Health::kUnknown, moment.now);
    return false;
  }
  const auto share = hedging->TryTake(moment.now);
  bool paid = share.has_value();
  if (paid && policy_->budget != nullptr && !policy_->budget->TryWithdraw(moment.now)) {
    hedging->GiveBack(*share, moment.now);
    paid = false;
  }
  if (!paid) {
    TellBreakers(attempt, Classification::Health::kUnknown, moment.now);
    Count(state().counters->hedges_refused);
    return false;
  }
  ++hedges_made_;
  Count(state().counters->hedges);
  step = Begin(attempt, moment.now);
  return true;
}

Step CallSession::OnAttemptDone(int number, AttemptOutcome outcome, const Moment& moment) {
  const auto it = std::find_if(in_flight_.begin(), in_flight_.end(),
                               [&](const InFlight& one) { return one.number == number; });
  const InFlight attempt = *it;
  in_flight_.erase(it);
  last_instance_ = attempt.instance;
  last_listener_ = attempt.listener;
  if (outcome.status.ok()) return OnAnswer(attempt, moment);
  return OnFailure(attempt, std::move(outcome), moment);
}

Step CallSession::OnAnswer(const InFlight& attempt, const Moment& moment) {
  overloaded_ = nullptr;
  NoteReachable(attempt, moment.now);
  TellBreakers(attempt, Classification::Health::kGood, moment.now);
  TellBalancer(attempt, AttemptEnd::Result::kAnswered, moment.now);
  const absl::Duration latency = moment.now - attempt.started_at;
  TellOutliers(attempt, Classification::Health::kGood, latency, moment);
  if (policy_->throttle != nullptr) policy_->throttle->OnSuccess();
  TellThrottle({}, {}, moment.now);
  if (policy_->hedging != nullptr) {
    policy_->hedging->OnAnswer(latency, moment.now);
    NoteOvertaken(attempt, moment.now);
  }
  if (own_policies_ != nullptr) {
    own_policies_->At(moment.now, moment.random);
    own_policies_->OnAnswer(*input_.reply, attempt.instance->endpoint().ToString());
    own_verdict_ = own_policies_->MayRetry();
  }
  if (policy_->result_rule != nullptr && policy_->result_rule->Matches(*input_.reply)) {
    Classification classification;
    classification.retryable = true;
    classification.why = "the answer is one to be retried (retry.retryOnResult)";
    NoteTried(attempt);
    if (!in_flight_.empty()) {
      log_.Add({attempt.instance, latency, absl::OkStatus(), "another attempt is under way"});
      last_ = LastOutcome{absl::OkStatus(), /*answered=*/true};
      return OnHedgeTime(moment);
    }
    absl::Duration delay;
    const auto why_not = WhyNoRetry(classification, std::nullopt, moment, delay);
    log_.Add({attempt.instance, latency, absl::OkStatus(), why_not.value_or(classification.why)});
    last_ = LastOutcome{absl::OkStatus(), /*answered=*/true};
    if (why_not.has_value()) return FinishWithLast(moment.now);
    return RetryAfter(delay, attempt, classification.why, moment);
  }
  if (attempt.hedge) Count(state().counters->hedges_won);
  if (input_.report != nullptr) {
    log_.Add({attempt.instance, latency, absl::OkStatus(), "answered"});
  }
  return FinishAnswered(absl::OkStatus(), moment.now, /*good=*/true);
}

Step CallSession::OnFailure(const InFlight& attempt, AttemptOutcome outcome, const Moment& moment) {
  const Classification classification =
      Classify(outcome, policy_->settings.retry, policy_->idempotent);
  const absl::Duration latency = moment.now - attempt.started_at;
  const CircuitBreakerSettings& breaker = policy_->settings.circuit_breaker;
  TellBreakers(attempt, JudgeFailure(outcome, classification, breaker.record, breaker.ignore),
               moment.now);
  TellBalancer(attempt, ResultOf(outcome, classification), moment.now);
  if (state().ejections != nullptr) {
    const OutlierSettings& outlier = state().ejections->settings();
    const bool timed = classification.health == Classification::Health::kGood ||
                       outcome.status.code() == absl::StatusCode::kDeadlineExceeded;
    TellOutliers(attempt, JudgeFailure(outcome, classification, outlier.record, outlier.ignore),
                 timed ? std::optional(latency) : std::nullopt, moment);
  }
  if (outcome.source == AttemptOutcome::Source::kNetwork) {
    NoteUnreachable(attempt, outcome.status, moment.now);
  } else if (classification.health == Classification::Health::kGood) {
    NoteReachable(attempt, moment.now);
  } else if (attempt.trial) {
    attempt.instance->OnTrialWithoutWord();
  }
  NoteTried(attempt);
  const bool overloaded =
      classification.reason == reason::kOverloaded || classification.reason == reason::kRateLimited;
  overloaded_ = overloaded && !outcome.pushback.has_value() ? attempt.instance : nullptr;
  TellThrottle(outcome, classification, moment.now);
  if (own_policies_ != nullptr) {
    own_policies_->At(moment.now, moment.random);
    if (outcome.pushback.has_value()) own_policies_->OnPushback(*outcome.pushback);
    own_policies_->OnError(outcome.status, attempt.instance->endpoint().ToString());
    own_verdict_ = own_policies_->MayRetry();
  }

  const bool told_not_to = outcome.pushback.has_value() && *outcome.pushback < absl::ZeroDuration();
  if (policy_->throttle != nullptr && (classification.retryable || told_not_to)) {
    policy_->throttle->OnFailure();
  }
  const bool answered = classification.origin == ErrorInfo::BUSINESS;
  // Others are still under way: what can be retried leaves the word to them.
  if (!in_flight_.empty() && classification.retryable) {
    log_.Add({attempt.instance, latency, outcome.status, "another attempt is under way",
              outcome.surely_not_sent});
    last_ = LastOutcome{log_.Describe(*input_.method, outcome, classification, retries_decided_),
                        answered};
    return outcome.pushback.has_value() ? HedgeAfter(*outcome.pushback, moment.now)
                                        : OnHedgeTime(moment);
  }
  absl::Duration delay;
  const auto why_not = WhyNoRetry(classification, outcome.pushback, moment, delay);
  log_.Add({attempt.instance, latency, outcome.status, why_not.value_or(classification.why),
            outcome.surely_not_sent});
  last_ = LastOutcome{log_.Describe(*input_.method, outcome, classification, retries_decided_),
                      answered};
  if (outcome.source == AttemptOutcome::Source::kLocal && why_not.has_value()) {
    return FinishUnanswered(std::move(last_->status), moment.now, /*ask_fallback=*/false);
  }
  if (why_not.has_value()) return FinishWithLast(moment.now);
  return RetryAfter(delay, attempt, classification.why, moment);
}

void CallSession::NoteTried(const InFlight& attempt) {
  if (std::find(tried_.begin(), tried_.end(), attempt.instance) != tried_.end()) return;
  tried_.push_back(attempt.instance);
}

Step CallSession::HedgeAfter(absl::Duration pushback, MonotonicTime now) {
  Step step;
  step.kind = Step::Kind::kGoOn;
  if (pushback < absl::ZeroDuration() || pushback > kLongestPushback) {
    hedges_forbidden_ = true;
  } else if (hedges_made_ < policy_->hedging->max_hedges()) {
    step.hedge_at = now + pushback;
  }
  return step;
}

Step CallSession::RetryAfter(absl::Duration delay, const InFlight& attempt, absl::string_view why,
                             const Moment& moment) {
  ++retries_decided_;
  if (const auto logger = Logger(); logger->should_log(spdlog::level::info)) {
    logger->info(
        "event=retry method={} attempt={} next={} delay={} instance={} code={} reason=\"{}\"",
        input_.method->full_name, attempts_made_, attempts_made_ + 1, absl::FormatDuration(delay),
        attempt.instance->endpoint().ToString(), absl::StatusCodeToString(last_->status.code()),
        std::string(why));
  }
  return delay > absl::ZeroDuration() ? BackOff(moment.now + delay) : Retry(moment);
}

std::optional<absl::string_view> CallSession::WhyNoRetry(
    const Classification& classification, const std::optional<absl::Duration>& pushback,
    const Moment& moment, absl::Duration& delay) {
  const RetrySettings& settings = policy_->settings.retry;
  CallCounters& counters = *state().counters;
  if (!classification.retryable) return classification.why;
  spent_ = true;
  if (retries_decided_ >= settings.max_retries) {
    if (settings.max_retries > 0) Count(counters.retries_exhausted);
    return "no retry left (retry.maxRetries)";
  }
  if (const absl::string_view refusal = ChainRefusal(settings.chain, *input_.context);
      !refusal.empty()) {
    Count(counters.retries_refused_by_chain);
    return refusal;
  }
  if (pushback.has_value() && (*pushback < absl::ZeroDuration() || *pushback > kLongestPushback)) {
    Count(counters.retries_refused_by_pushback);
    return *pushback < absl::ZeroDuration() ? "the peer asked not to retry"
                                            : "the peer asked to wait for more than a minute";
  }
  if (overloaded_ != nullptr && state().candidates.size() == 1) {
    return "overloaded, and there is no other instance";
  }
  if (own_verdict_.kind != RetryVerdict::Kind::kTryAgain) return RefusedByOwnPolicy();
  if (pushback.has_value()) {
    // The peer's word; after it the backoff starts over (gRFC A6).
    delay = *pushback;
    backoff_step_ = 0;
    backoff_memory_ = {};
  } else {
    delay = own_verdict_.wait +
            BackoffDelay(settings.backoff, ++backoff_step_, moment.random, backoff_memory_);
  }
  if (moment.now + delay >= deadline_) {
    Count(counters.retries_refused_by_deadline);
    out_of_time_ = true;
    return "the next attempt could not end before the deadline";
  }
  if (policy_->throttle != nullptr && !policy_->throttle->AllowsRetry()) {
    Count(counters.retries_refused_by_throttle);
    return "too many calls fail (retry.throttle)";
  }
  if (!ReserveInChain(settings.chain, *input_.context)) {
    Count(counters.retries_refused_by_chain);
    return kChainUsedUp;
  }
  if (policy_->budget != nullptr) {
    const auto withdrawal = policy_->budget->TryWithdraw(moment.now);
    if (!withdrawal.has_value()) {
      UnreserveInChain(*input_.context);
      Count(counters.retries_refused_by_budget);
      return "the retry budget is spent (retry.budget)";
    }
    withdrawal_ = *withdrawal;
  }
  if (own_policies_ != nullptr) {
    own_verdict_ = own_policies_->TakeRetry(delay);
    if (own_verdict_.kind != RetryVerdict::Kind::kTryAgain) {
      UnreserveInChain(*input_.context);
      if (policy_->budget != nullptr) policy_->budget->GiveBack(withdrawal_, moment.now);
      return RefusedByOwnPolicy();
    }
  }
  spent_ = false;
  return std::nullopt;
}

absl::string_view CallSession::RefusedByOwnPolicy() {
  spent_ = own_verdict_.kind == RetryVerdict::Kind::kSpent;
  Count(state().counters->retries_refused_by_policy);
  return own_verdict_.reason;
}

}  // namespace marpc
