// When and how a breaker changes its state.
#include <algorithm>
#include <limits>

#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/circuitbreaker/locked.h"
#include "marpc/circuitbreaker/open_wait.h"

namespace marpc {

BreakerReason CircuitBreaker::RateReason(MonotonicTime now) const {
  const BreakerTrips& trips = rules_->trip_on;
  if (rate_ == nullptr) return BreakerReason::kNone;
  const CallCounts counts = CountsInWindow(now);
  int minimum = rules_->minimum_calls;
  if (rules_->rate_window == RateWindowKind::kCalls) {
    minimum = std::min(minimum, rules_->rate_window_calls);
  }
  const auto reached = [&](int64_t bad, double threshold) {
    return RateReached(PercentOf(bad, counts.calls), threshold, counts.calls, minimum);
  };
  if (trips.failure_rate && reached(counts.failed, rules_->failure_rate)) {
    return BreakerReason::kFailureRate;
  }
  if (trips.slow_call_rate && reached(counts.slow, rules_->slow_call_rate)) {
    return BreakerReason::kSlowCallRate;
  }
  if (trips.failed_calls && counts.failed >= rules_->failed_calls && counts.calls >= minimum) {
    return BreakerReason::kFailedCalls;
  }
  return BreakerReason::kNone;
}

BreakerReason CircuitBreaker::TripReason(MonotonicTime now) const {
  const BreakerTrips& trips = rules_->trip_on;
  if (trips.fault_limit && FailuresInWindow(now) >= rules_->fault_limit) {
    return BreakerReason::kFaultLimit;
  }
  if (trips.consecutive_failures && consecutive_ >= rules_->consecutive_failures) {
    return BreakerReason::kConsecutiveFailures;
  }
  return RateReason(now);
}

void CircuitBreaker::TripIfDue(MonotonicTime now) {
  if (state() != BreakerState::kClosed) return;  // METRICS_ONLY counts, and that is all
  const BreakerReason reason = TripReason(now);
  if (reason != BreakerReason::kNone) Enter(BreakerState::kOpen, reason, now);
}

void CircuitBreaker::Reset(MonotonicTime now) {
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Enter(BreakerState::kClosed, BreakerReason::kReset, now);
  });
}

void CircuitBreaker::OnNewPeer(MonotonicTime now) {
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    switch (state()) {
      case BreakerState::kClosed:
      case BreakerState::kOpen:
      case BreakerState::kHalfOpen:
        return Enter(BreakerState::kClosed, BreakerReason::kReset, now);
      case BreakerState::kForcedOpen:
      case BreakerState::kDisabled:
      case BreakerState::kMetricsOnly:
        return;
    }
  });
}

void CircuitBreaker::Force(BreakerState state, MonotonicTime now) {
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { Enter(state, BreakerReason::kForced, now); });
}

void CircuitBreaker::BeginIn(BreakerState state) {
  PlainMutexLock lock(&mutex_);
  word_.store(generation() << kGenerationShift | static_cast<uint64_t>(state),
              std::memory_order_release);
  UpdateAdmitsFrom();
}

bool CircuitBreaker::OpenByOthers(MonotonicTime now) {
  bool opens = false;
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    opens = state() == BreakerState::kClosed;
    if (opens) Enter(BreakerState::kOpen, BreakerReason::kShared, now);
  });
  return opens;
}

void CircuitBreaker::CatchUp(MonotonicTime now) {
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (slow_ != nullptr && now >= slow_->due()) CountSlowCalls(now);
    Settle(now);
  });
}

void CircuitBreaker::Settle(MonotonicTime now) {
  const absl::Duration limit = rules_->half_open_time_limit;
  if (state() == BreakerState::kHalfOpen && limit > absl::ZeroDuration() &&
      now - gate_.since() >= limit) {
    if (rules_->half_open_undecided == HalfOpenUndecided::kClosed) {
      Enter(BreakerState::kClosed, BreakerReason::kUndecided, now);
    } else {
      // As of then, so that nobody waits longer for coming late.
      Enter(BreakerState::kOpen, BreakerReason::kUndecided, gate_.since() + limit);
    }
  }
  if (state() == BreakerState::kOpen && now - opened_at_ >= open_for_) {
    Enter(rules_->half_open ? BreakerState::kHalfOpen : BreakerState::kClosed,
          BreakerReason::kWaitOver, now);
  }
  const uint64_t word = word_.load(std::memory_order_relaxed);
  if (Ramping(word) && ramp_.Over(*rules_, now)) {
    word_.store(word & ~kRampBit, std::memory_order_release);
  }
}

void CircuitBreaker::Enter(BreakerState next, BreakerReason reason, MonotonicTime at) {
  const BreakerState from = state();
  Transition transition{from, next, at, FailuresAt(at), reason, CountsInWindow(at), {}};
  if (from == BreakerState::kHalfOpen) transition.calls = gate_.counts();
  if (next == BreakerState::kOpen) {
    failed_half_opens_ = from == BreakerState::kHalfOpen ? failed_half_opens_ + 1 : 0;
    open_for_ = OpenWait(*rules_, failed_half_opens_,
                         random_ != nullptr ? *random_ : RandomSource::OfThisThread());
    opened_at_ = at;
    if (from != BreakerState::kHalfOpen) {
      failures_at_opening_ = transition.failures;
      calls_at_opening_ = transition.calls;
    }
    ++times_opened_;
    transition.wait = open_for_;
  }
  faults_.Clear();
  ForgetFailures();
  gate_.Start(at);
  reason_ = reason;
  const bool ramps = next == BreakerState::kClosed && rules_->ramp_up > absl::ZeroDuration() &&
                     (from == BreakerState::kOpen || from == BreakerState::kHalfOpen) &&
                     reason != BreakerReason::kReset && reason != BreakerReason::kForced;
  if (ramps) ramp_.Start(*rules_, at);
  const uint64_t generation = this->generation() + 1;
  if (rate_ != nullptr) rate_->StartPeriod(PeriodOf(generation));
  if (slow_ != nullptr) slow_->StartPeriod(PeriodOf(generation), at);
  word_.store(generation << kGenerationShift | (ramps ? kRampBit : 0) | static_cast<uint64_t>(next),
              std::memory_order_release);
  UpdateAdmitsFrom();
  if (from == next) return;
  events_.Add(transition);
  if (listener_ != nullptr) unannounced_.push_back(transition);
}

void CircuitBreaker::UpdateAdmitsFrom() {
  MonotonicTime from = MonotonicTime::FromNanos(std::numeric_limits<int64_t>::min());
  const bool active = rules_->active_probe && rules_->half_open;
  switch (state()) {
    case BreakerState::kOpen:
      from = opened_at_ + open_for_;
      // A check comes before any call, or nobody makes checks.
      if (active) from = from + ProbeTimeout(*rules_);
      break;
    case BreakerState::kForcedOpen:
      from = MonotonicTime::InfiniteFuture();
      break;
    case BreakerState::kHalfOpen:
      from = gate_.full_until(*rules_);
      if (active) from = std::max(from, gate_.since() + ProbeTimeout(*rules_));
      if (rules_->half_open_time_limit > absl::ZeroDuration()) {
        from = std::min(from, gate_.since() + rules_->half_open_time_limit);
      }
      break;
    default:
      break;
  }
  admits_from_.store(from.nanos(), std::memory_order_release);
}

CallCounts CircuitBreaker::CountsInWindow(MonotonicTime now) const {
  return rate_ == nullptr ? CallCounts() : rate_->Counts(PeriodOf(generation()), now);
}

int CircuitBreaker::FailuresInWindow(MonotonicTime now) const {
  return faults_.Count(rules_->window_size, now);
}

// The window of faultLimit remembers no more than the limit.
int CircuitBreaker::FailuresAt(MonotonicTime now) const {
  return std::max(FailuresInWindow(now), static_cast<int>(CountsInWindow(now).failed));
}

CircuitBreaker::Snapshot CircuitBreaker::GetSnapshot(MonotonicTime now) const {
  PlainMutexLock lock(&mutex_);
  const uint64_t word = word_.load(std::memory_order_relaxed);
  Snapshot snapshot;
  snapshot.state = StateOf(word);
  snapshot.failures = failures_at_opening_;
  snapshot.calls = calls_at_opening_;
  if (snapshot.state == BreakerState::kHalfOpen) {
    snapshot.successes = gate_.successes();
  } else if (snapshot.state != BreakerState::kOpen) {
    snapshot.failures = FailuresAt(now);
    snapshot.calls = CountsInWindow(now);
    snapshot.successes = static_cast<int>(snapshot.calls.calls - snapshot.calls.failed);
  }
  snapshot.probes_out = gate_.out();
  if (Ramping(word)) snapshot.share = ramp_.Share(*rules_, now);
  snapshot.opened_at = opened_at_;
  snapshot.next_probe_at = snapshot.state == BreakerState::kOpen ? opened_at_ + open_for_ : now;
  snapshot.reason = reason_;
  snapshot.times_opened = times_opened_;
  snapshot.refused = refused_.load(std::memory_order_relaxed);
  snapshot.refused_by_ramp = refused_by_ramp_;
  snapshot.probes = probes_;
  return snapshot;
}

std::vector<CircuitBreaker::Transition> CircuitBreaker::Events() const {
  PlainMutexLock lock(&mutex_);
  return events_.List();
}

}  // namespace marpc
