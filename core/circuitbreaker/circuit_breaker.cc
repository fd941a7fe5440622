// What a call does to a breaker. Its transitions are in transitions.cc.
#include "marpc/circuitbreaker/circuit_breaker.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "marpc/circuitbreaker/locked.h"

namespace marpc {
namespace {

bool JudgesSlowCalls(const BreakerRules& rules) {
  return rules.trip_on.slow_call_rate || rules.slow_calls_fail;
}

}  // namespace

BreakerState CircuitBreaker::InitialState(const BreakerRules& rules) {
  switch (rules.initial_state) {
    case BreakerInitialState::kClosed:
      return BreakerState::kClosed;
    case BreakerInitialState::kForcedOpen:
      return BreakerState::kForcedOpen;
    case BreakerInitialState::kDisabled:
      return BreakerState::kDisabled;
    case BreakerInitialState::kMetricsOnly:
      return BreakerState::kMetricsOnly;
  }
  return BreakerState::kClosed;
}

CircuitBreaker::CircuitBreaker(const BreakerRules& rules, Listener listener, RandomSource* random)
    : CircuitBreaker(std::make_shared<const BreakerRules>(rules), std::move(listener), random) {}

CircuitBreaker::CircuitBreaker(std::shared_ptr<const BreakerRules> rules, Listener listener,
                               RandomSource* random)
    : rules_(std::move(rules)),
      word_(uint64_t{1} << kGenerationShift | static_cast<uint64_t>(InitialState(*rules_))),
      rate_(MakeRateWindow(*rules_)),
      slow_(JudgesSlowCalls(*rules_) ? std::make_unique<SlowCalls>(rules_->slow_call_duration)
                                     : nullptr),
      forgets_(rules_->success_resets || rules_->trip_on.consecutive_failures),
      listener_(std::move(listener)),
      random_(random),
      faults_(rules_->fault_limit) {
  if (rate_ != nullptr) rate_->StartPeriod(PeriodOf(1));
  if (slow_ != nullptr) slow_->StartPeriod(PeriodOf(1), MonotonicTime::FromNanos(0));
  UpdateAdmitsFrom();
}

CircuitBreaker::Admission CircuitBreaker::TryAcquire(MonotonicTime now) {
  uint64_t word = word_.load(std::memory_order_acquire);
  const auto counted = [](uint64_t w) {
    return AdmitsAll(w) && StateOf(w) != BreakerState::kDisabled;
  };
  if (!counted(word)) return AcquireSlow(word, now);
  // If the state changes from here on, the permit is of before and its result is ignored.
  Admission admission;
  admission.allowed = true;
  admission.permit.generation = GenerationOf(word);
  admission.permit.started_at = now;
  if (slow_ == nullptr) return admission;
  if (now >= slow_->due()) {
    TakeSlowCalls(now);
    word = word_.load(std::memory_order_acquire);
    if (!counted(word)) return AcquireSlow(word, now);
    admission.permit.generation = GenerationOf(word);
  }
  admission.permit.under_way = slow_->Begin(PeriodOf(admission.permit.generation), now);
  return admission;
}

CircuitBreaker::Admission CircuitBreaker::AcquireSlow(uint64_t word, MonotonicTime now) {
  Admission admission;
  if (StateOf(word) == BreakerState::kDisabled) {
    admission.allowed = true;
    admission.permit.started_at = now;
    return admission;  // of no generation: its result is ignored
  }
  if (!MayAdmit(now)) return Refuse(state(), now);
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (slow_ != nullptr && state() == BreakerState::kClosed && now >= slow_->due()) {
      CountSlowCalls(now);
    }
    Settle(now);
    admission = AcquireLocked(now);
  });
  return admission;
}

CircuitBreaker::Admission CircuitBreaker::TryAcquireProbe(MonotonicTime now) {
  Admission admission;
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Settle(now);
    if (state() == BreakerState::kHalfOpen) admission = AcquireLocked(now);
  });
  return admission;
}

CircuitBreaker::Admission CircuitBreaker::AcquireLocked(MonotonicTime now) {
  const uint64_t word = word_.load(std::memory_order_relaxed);
  Admission admission;
  const BreakerState state = StateOf(word);
  if (state == BreakerState::kOpen || state == BreakerState::kForcedOpen) {
    return Refuse(state, now);
  }
  if (state == BreakerState::kHalfOpen) {
    admission.permit.probe_number = gate_.Admit(*rules_, now);
    UpdateAdmitsFrom();
    if (admission.permit.probe_number == 0) return Refuse(state, now);
    ++probes_;
    admission.permit.probe = true;
  }
  if (Ramping(word) && !ramp_.Admit(*rules_, now)) {
    ++refused_by_ramp_;
    admission.refusal = BreakerRefusal::kRampUp;
    return admission;
  }
  admission.allowed = true;
  admission.permit.started_at = now;
  if (state == BreakerState::kDisabled) return admission;
  admission.permit.generation = GenerationOf(word);
  if (slow_ != nullptr && state != BreakerState::kHalfOpen) {
    admission.permit.under_way = slow_->Begin(PeriodOf(admission.permit.generation), now);
  }
  return admission;
}

CircuitBreaker::Admission CircuitBreaker::Refuse(BreakerState state, MonotonicTime now) {
  refused_.fetch_add(1, std::memory_order_relaxed);
  Admission admission;
  switch (state) {
    case BreakerState::kOpen:
      admission.refusal = BreakerRefusal::kOpen;
      admission.retry_after = std::max(admits_from() - now, absl::ZeroDuration());
      break;
    case BreakerState::kForcedOpen:
      admission.refusal = BreakerRefusal::kForcedOpen;
      break;
    default:
      admission.refusal = BreakerRefusal::kProbing;
  }
  return admission;
}

void CircuitBreaker::OnSuccess(const Permit& permit, MonotonicTime now) {
  const bool forgets = forgets_ && any_failure_.load(std::memory_order_relaxed);
  if (rate_ == nullptr && slow_ == nullptr && !permit.probe && !forgets) return;
  End(permit, false, now);
}

void CircuitBreaker::OnFailure(const Permit& permit, MonotonicTime now) { End(permit, true, now); }

void CircuitBreaker::End(const Permit& permit, bool failed, MonotonicTime now) {
  const bool slow = slow_ != nullptr && now - permit.started_at > rules_->slow_call_duration;
  // Where it hung, it was recorded then.
  const bool recorded = slow_ != nullptr && slow_->End(permit.under_way);
  failed |= slow && rules_->slow_calls_fail;
  if (permit.probe) {
    return Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (permit.generation == generation()) EndProbe(permit, failed, slow, now);
    });
  }
  if (permit.generation != generation()) return;
  const uint32_t period = PeriodOf(permit.generation);
  if (failed) {
    if (recorded && rules_->slow_calls_fail) return;
    return Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (permit.generation != generation()) return;
      if (rate_ != nullptr && recorded) rate_->MarkFailed(period, now);
      if (rate_ != nullptr && !recorded) rate_->Record(period, true, slow, now);
      CountFailure(now);
      TripIfDue(now);
    });
  }
  if (rate_ != nullptr && !recorded) rate_->Record(period, false, slow, now);
  const bool forgets = forgets_ && any_failure_.load(std::memory_order_relaxed);
  const bool trips = rate_ != nullptr && (slow || rules_->success_may_trip) &&
                     rate_->AnyBad(period, now) && RateReason(now) != BreakerReason::kNone;
  if (!forgets && !trips) return;
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (permit.generation != generation()) return;
    if (forgets) ForgetFailures();
    if (trips) TripIfDue(now);
  });
}

void CircuitBreaker::EndProbe(const Permit& permit, bool failed, bool slow, MonotonicTime now) {
  gate_.GiveBack(permit.probe_number);
  switch (gate_.Count(*rules_, failed, slow)) {
    case HalfOpenGate::Verdict::kUndecided:
      return UpdateAdmitsFrom();
    case HalfOpenGate::Verdict::kClose:
      return Enter(BreakerState::kClosed, BreakerReason::kProbesSucceeded, now);
    case HalfOpenGate::Verdict::kOpen:
      return Enter(BreakerState::kOpen, BreakerReason::kProbesFailed, now);
  }
}

void CircuitBreaker::Release(const Permit& permit) {
  if (slow_ != nullptr) slow_->End(permit.under_way);
  if (!permit.probe) return;
  PlainMutexLock lock(&mutex_);
  if (permit.generation != generation()) return;
  gate_.GiveBack(permit.probe_number);
  UpdateAdmitsFrom();
}

void CircuitBreaker::CountFailure(MonotonicTime now) {
  faults_.Add(rules_->fault_limit, now);
  ++consecutive_;
  any_failure_.store(true, std::memory_order_relaxed);
}

void CircuitBreaker::ForgetFailures() {
  if (rules_->success_resets) faults_.Clear();
  consecutive_ = 0;
  any_failure_.store(false, std::memory_order_relaxed);
}

void CircuitBreaker::TakeSlowCalls(MonotonicTime now) {
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (now >= slow_->due()) CountSlowCalls(now);
  });
}

void CircuitBreaker::CountSlowCalls(MonotonicTime now) {
  const uint32_t period = PeriodOf(generation());
  const int hanging = slow_->TakeOverdue(period, now);
  for (int i = 0; i < hanging; ++i) {
    if (rate_ != nullptr) rate_->Record(period, rules_->slow_calls_fail, true, now);
    if (rules_->slow_calls_fail) CountFailure(now);
  }
  if (hanging > 0) TripIfDue(now);
}

}  // namespace marpc
