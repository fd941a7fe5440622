#include "marpc/circuitbreaker/circuit_breaker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace marpc {

absl::string_view BreakerStateName(BreakerState state) {
  switch (state) {
    case BreakerState::kClosed:
      return "CLOSED";
    case BreakerState::kOpen:
      return "OPEN";
    case BreakerState::kHalfOpen:
      return "HALF_OPEN";
  }
  return "UNKNOWN";
}

absl::Status CircuitBreaker::Validate(const CircuitBreakerSettings& settings) {
  const auto bad = [](auto&&... text) { return absl::InvalidArgumentError(absl::StrCat(text...)); };
  if (settings.fault_limit < 1) {
    return bad("circuitbreaker.faultLimit ", settings.fault_limit, " must be at least 1");
  }
  if (settings.half_open_probes < 1) {
    return bad("circuitbreaker.halfOpenProbes ", settings.half_open_probes, " must be at least 1");
  }
  if (settings.window_size <= absl::ZeroDuration()) {
    return bad("circuitbreaker.windowSize must be longer than 0");
  }
  if (settings.half_open_initial_delay < absl::ZeroDuration() ||
      settings.half_open_delay < absl::ZeroDuration()) {
    return bad("circuitbreaker.halfOpenInitialDelay and halfOpenDelay must not be negative");
  }
  return absl::OkStatus();
}

CircuitBreaker::CircuitBreaker(const CircuitBreakerSettings& settings, Listener listener)
    : settings_(settings), listener_(std::move(listener)) {}

CircuitBreaker::Admission CircuitBreaker::TryAcquire(MonotonicTime now) {
  // The generation first: if the state changes in between, the permit is of before and its result
  // is ignored.
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  if (state() == BreakerState::kClosed) {
    return {.allowed = true, .permit = {.generation = generation}, .retry_after = {}};
  }
  return AcquireSlow(now);
}

template <typename Change>
void CircuitBreaker::Locked(Change change) {
  absl::MutexLock lock(&mutex_);
  change();
  if (announcing_) return;  // by another thread, or further up in this one
  announcing_ = true;
  while (!unannounced_.empty()) {
    const Transition transition = unannounced_.front();
    unannounced_.pop_front();
    mutex_.Unlock();
    listener_(transition);
    mutex_.Lock();
  }
  announcing_ = false;
}

CircuitBreaker::Admission CircuitBreaker::AcquireSlow(MonotonicTime now) {
  Admission admission;
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (state() == BreakerState::kOpen && now - opened_at_ >= open_for_) {
      Enter(BreakerState::kHalfOpen, now);
    }
    if (state() == BreakerState::kOpen) {
      admission.retry_after = open_for_ - (now - opened_at_);
      return;
    }
    if (state() == BreakerState::kHalfOpen) {
      std::erase_if(probes_, [&](MonotonicTime t) { return now - t >= settings_.half_open_delay; });
      const int used = static_cast<int>(probes_.size()) + probe_successes_;
      if (used >= settings_.half_open_probes) return;
      probes_.push_back(now);
      admission.permit.probe = true;
    }
    admission.allowed = true;
    admission.permit.generation = generation_.load();
  });
  if (!admission.allowed) refused_.fetch_add(1, std::memory_order_relaxed);
  return admission;
}

void CircuitBreaker::OnSuccess(Permit permit, MonotonicTime now) {
  if (!permit.probe &&
      !(settings_.success_resets && any_failure_.load(std::memory_order_relaxed))) {
    return;
  }
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (permit.generation != generation_.load()) return;
    if (!permit.probe) return ForgetFailures();
    GiveBackProbe();
    if (++probe_successes_ >= settings_.half_open_probes) Enter(BreakerState::kClosed, now);
  });
}

void CircuitBreaker::OnFailure(Permit permit, MonotonicTime now) {
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (permit.generation != generation_.load()) return;
    if (!permit.probe) return CountFailure(now);
    Enter(BreakerState::kOpen, now);
  });
}

void CircuitBreaker::Release(Permit permit) {
  if (!permit.probe) return;
  absl::MutexLock lock(&mutex_);
  if (permit.generation == generation_.load()) GiveBackProbe();
}

void CircuitBreaker::Reset(MonotonicTime now) {
  Locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { Enter(BreakerState::kClosed, now); });
}

CircuitBreaker::Snapshot CircuitBreaker::GetSnapshot(MonotonicTime now) const {
  absl::MutexLock lock(&mutex_);
  Snapshot snapshot;
  snapshot.state = state();
  snapshot.failures =
      snapshot.state == BreakerState::kClosed ? FailuresInWindow(now) : failures_at_opening_;
  snapshot.probes_out = static_cast<int>(probes_.size());
  snapshot.opened_at = opened_at_;
  snapshot.next_probe_at = snapshot.state == BreakerState::kOpen ? opened_at_ + open_for_ : now;
  snapshot.times_opened = times_opened_;
  snapshot.refused = refused_.load(std::memory_order_relaxed);
  return snapshot;
}

void CircuitBreaker::Enter(BreakerState next, MonotonicTime now) {
  const BreakerState from = state();
  const int failures = FailuresInWindow(now);
  if (next == BreakerState::kOpen) {
    open_for_ = from == BreakerState::kClosed ? settings_.half_open_initial_delay
                                              : settings_.half_open_delay;
    opened_at_ = now;
    if (from == BreakerState::kClosed) failures_at_opening_ = failures;
    ++times_opened_;
  }
  ForgetFailures();
  probes_.clear();
  probe_successes_ = 0;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  state_.store(next, std::memory_order_release);
  if (from != next && listener_ != nullptr) unannounced_.push_back({from, next, now, failures});
}

void CircuitBreaker::CountFailure(MonotonicTime now) {
  const size_t limit = static_cast<size_t>(settings_.fault_limit);
  if (failure_times_.size() < limit) {
    failure_times_.push_back(now);
  } else {
    failure_times_[next_failure_] = now;
    next_failure_ = (next_failure_ + 1) % limit;
  }
  any_failure_.store(true, std::memory_order_relaxed);
  if (state() == BreakerState::kClosed && FailuresInWindow(now) >= settings_.fault_limit) {
    Enter(BreakerState::kOpen, now);
  }
}

void CircuitBreaker::ForgetFailures() {
  failure_times_.clear();
  next_failure_ = 0;
  any_failure_.store(false, std::memory_order_relaxed);
}

int CircuitBreaker::FailuresInWindow(MonotonicTime now) const {
  return static_cast<int>(std::count_if(failure_times_.begin(), failure_times_.end(),
                                        [&](auto t) { return now - t < settings_.window_size; }));
}

void CircuitBreaker::GiveBackProbe() {
  // The oldest: should it be an expired one that comes back after all, its result counts like any
  // other's, and the number of probes out can only be taken for larger than it is, never for
  // smaller.
  if (!probes_.empty()) probes_.erase(probes_.begin());
}

}  // namespace marpc
