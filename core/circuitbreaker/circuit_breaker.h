// Leaves a sick service alone: after `fault_limit` failures inside a sliding window no call is let
// through for a while; then a few probes decide whether it is back.
//
//   CircuitBreaker breaker(settings);
//   CircuitBreaker::Admission admission = breaker.TryAcquire(clock.Now());
//   if (!admission.allowed) return TooEarly(admission.retry_after);
//   ...
//   ok ? breaker.OnSuccess(admission.permit, clock.Now()) : breaker.OnFailure(admission.permit,
//   clock.Now());
//
//   CLOSED ── fault_limit failures within window_size ──> OPEN ── half_open_initial_delay ──>
//   HALF_OPEN
//     ^                                                    ^                                      |
//     |                                                    └──── a probe failed; half_open_delay ─┤
//     └─────────────────────────────── half_open_probes probes succeeded ─────────────────────────┘
//
// Works on anything, with or without RPC. An answer of any kind is a success: what is judged is
// whether the peer answers. Every permit that was given must be given back by OnSuccess, OnFailure
// or Release; one that never is does not wedge the breaker: after half_open_delay its place is
// given to another probe. A permit carries the breaker's generation: a result from before a
// transition changes nothing after it.
#ifndef MARPC_CIRCUITBREAKER_CIRCUIT_BREAKER_H_
#define MARPC_CIRCUITBREAKER_CIRCUIT_BREAKER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/config/settings.h"

namespace marpc {

enum class BreakerState { kClosed, kOpen, kHalfOpen };
absl::string_view BreakerStateName(BreakerState state);  // CLOSED, OPEN, HALF_OPEN

// Thread-safe. While closed, admitting and reporting success take no lock.
class CircuitBreaker {
 public:
  struct Permit {
    uint64_t generation = 0;
    bool probe = false;
  };
  struct Admission {
    bool allowed = false;
    Permit permit;
    // When refused: how long until a probe may be admitted. Zero while probes are out.
    absl::Duration retry_after;
  };
  struct Snapshot {
    BreakerState state = BreakerState::kClosed;
    int failures = 0;         // inside the window; while not CLOSED: those that opened it
    int probes_out = 0;       // permits given in HALF_OPEN and not back
    MonotonicTime opened_at;  // of the last opening
    MonotonicTime next_probe_at;
    uint64_t times_opened = 0;
    uint64_t refused = 0;
  };
  struct Transition {
    BreakerState from;
    BreakerState to;
    MonotonicTime at;
    int failures;  // inside the window when it happened
  };
  using Listener = std::function<void(const Transition&)>;

  // What is wrong with `settings`, if anything.
  static absl::Status Validate(const CircuitBreakerSettings& settings);

  // `settings` must be valid. `listener` is called after every transition, without a lock, one
  // call at a time and in the order of the transitions: by the thread that caused it, or by one
  // that was calling it just then. It may call the breaker.
  explicit CircuitBreaker(const CircuitBreakerSettings& settings, Listener listener = nullptr);

  Admission TryAcquire(MonotonicTime now);
  void OnSuccess(Permit permit, MonotonicTime now);
  void OnFailure(Permit permit, MonotonicTime now);
  // The call ended without a word on the peer's health: refused later, or cancelled by its caller.
  void Release(Permit permit);

  // Back to CLOSED with nothing counted.
  void Reset(MonotonicTime now);

  BreakerState state() const { return state_.load(std::memory_order_acquire); }
  Snapshot GetSnapshot(MonotonicTime now) const;
  const CircuitBreakerSettings& settings() const { return settings_; }

 private:
  Admission AcquireSlow(MonotonicTime now);
  void Enter(BreakerState next, MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountFailure(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetFailures() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int FailuresInWindow(MonotonicTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBackProbe() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the lock, runs `change` and then, without the lock, the listener for the transitions
  // made.
  template <typename Change>
  void Locked(Change change);

  const CircuitBreakerSettings settings_;
  const Listener listener_;

  // Read without the lock on the way in; they change only under it.
  std::atomic<BreakerState> state_{BreakerState::kClosed};
  std::atomic<uint64_t> generation_{1};
  std::atomic<bool> any_failure_{false};  // lets a success skip the lock
  std::atomic<uint64_t> refused_{0};

  mutable absl::Mutex mutex_;
  // The times of the last `fault_limit` failures, a ring.
  std::vector<MonotonicTime> failure_times_ ABSL_GUARDED_BY(mutex_);
  size_t next_failure_ ABSL_GUARDED_BY(mutex_) = 0;
  MonotonicTime opened_at_ ABSL_GUARDED_BY(mutex_);
  absl::Duration open_for_ ABSL_GUARDED_BY(mutex_);
  // When each probe that is out was admitted, oldest first.
  std::vector<MonotonicTime> probes_ ABSL_GUARDED_BY(mutex_);
  int probe_successes_ ABSL_GUARDED_BY(mutex_) = 0;
  int failures_at_opening_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t times_opened_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Transition> unannounced_ ABSL_GUARDED_BY(mutex_);
  bool announcing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_CIRCUIT_BREAKER_H_
