// Leaves a sick peer alone: when calls go wrong, none is let through for a while; then a few probes
// decide whether it is back.
//
//   marpc::CircuitBreakerSettings settings;        // or BreakerRules
//   marpc::CircuitBreaker breaker(settings);
//   absl::StatusOr<Row> row = breaker.Call([&] { return db.Query(id); });   // breaker_call.h, or:
//
//   CircuitBreaker::Admission admission = breaker.TryAcquire(clock.Now());
//   if (!admission.allowed) return TooEarly(admission.retry_after);
//   ...
//   ok ? breaker.OnSuccess(admission.permit, clock.Now())
//      : breaker.OnFailure(admission.permit, clock.Now());
//
//   CLOSED ── one of trip_on ──> OPEN ── half_open_initial_delay ──> HALF_OPEN
//     ^                           ^                                      |
//     |                           └── probes failed; half_open_delay ────┤
//     └──────── ramp_up ─────────── probes succeeded ────────────────────┘
//
// By default five failures within ten seconds open it, and one probe that succeeds closes it;
// BreakerRules has what else there is, docs/guide/circuit-breaking.md when to use it.
//
// Works on anything, with or without RPC. An answer of any kind is a success: what is judged is
// whether the peer answers. Every permit that was given must be given back by OnSuccess, OnFailure
// or Release; one that never is does not wedge the breaker: after half_open_probe_timeout its place
// is given to another probe. A permit carries the breaker's generation: a result from before a
// transition changes nothing after it.
//
// It has no thread and no timer: what time brings about happens when a call asks, or in CatchUp().
#ifndef MARPC_CIRCUITBREAKER_CIRCUIT_BREAKER_H_
#define MARPC_CIRCUITBREAKER_CIRCUIT_BREAKER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/base/random.h"
#include "marpc/circuitbreaker/breaker_events.h"
#include "marpc/circuitbreaker/breaker_state.h"
#include "marpc/circuitbreaker/failure_window.h"
#include "marpc/circuitbreaker/half_open_gate.h"
#include "marpc/circuitbreaker/ramp.h"
#include "marpc/circuitbreaker/rate_window.h"
#include "marpc/circuitbreaker/slow_calls.h"
#include "marpc/config/breaker_settings.h"

namespace marpc {

struct BreakerCall;

// Thread-safe. While it is closed, admitting and reporting success take no lock, allocate nothing
// and, by default, write nothing; where rates are judged, they count in one of two copies, by
// processor.
class CircuitBreaker {
 public:
  struct Permit {
    uint64_t generation = 0;
    bool probe = false;
    uint32_t probe_number = 0;
    MonotonicTime started_at;
    SlowCalls::Ticket under_way = {};
  };
  struct Admission {
    bool allowed = false;
    Permit permit;
    // When refused: how long until a probe may be admitted. Zero where that is not known: while
    // probes are out, in a ramp, when forced open.
    absl::Duration retry_after;
    BreakerRefusal refusal = BreakerRefusal::kNone;
  };
  struct Snapshot {
    BreakerState state = BreakerState::kClosed;
    // Inside windowSize or, where rates are judged, their window, whichever has more; while not
    // CLOSED: those that opened it.
    int failures = 0;
    CallCounts calls;         // in the rate window; while not CLOSED: what it held at the opening
    int successes = 0;        // of probes in HALF_OPEN; else in the rate window
    int probes_out = 0;       // permits given in HALF_OPEN and not back
    double share = 1;         // of the calls that a ramp lets through
    MonotonicTime opened_at;  // of the last opening
    MonotonicTime next_probe_at;
    BreakerReason reason = BreakerReason::kNone;  // of the last transition
    uint64_t times_opened = 0;
    uint64_t refused = 0;
    uint64_t refused_by_ramp = 0;  // not among `refused`
    uint64_t probes = 0;           // let out
  };
  using Transition = BreakerTransition;
  using Listener = std::function<void(const Transition&)>;

  // What a breaker with these rules begins in.
  static BreakerState InitialState(const BreakerRules& rules);
  // What is wrong with `rules`, if anything.
  static absl::Status Validate(const BreakerRules& rules);

  // `rules` must be valid. `listener` is called after every transition, without a lock, one call at
  // a time and in the order of the transitions: by the thread that caused it, or by one that was
  // calling it just then. It may call the breaker. `random` (null: the thread's own) is drawn from
  // at openings alone, under the breaker's lock.
  explicit CircuitBreaker(const BreakerRules& rules, Listener listener = nullptr,
                          RandomSource* random = nullptr);
  // Breakers that share their rules.
  explicit CircuitBreaker(std::shared_ptr<const BreakerRules> rules, Listener listener = nullptr,
                          RandomSource* random = nullptr);

  Admission TryAcquire(MonotonicTime now);
  // A permit for a probe that is no call; refused but in HALF_OPEN and when the wait of OPEN is
  // over. With BreakerRules::active_probe these are the probes.
  Admission TryAcquireProbe(MonotonicTime now);
  void OnSuccess(const Permit& permit, MonotonicTime now);
  void OnFailure(const Permit& permit, MonotonicTime now);
  // The call ended without a word on the peer's health: refused later, or cancelled by its caller.
  void Release(const Permit& permit);

  // Runs `fn`, or refuses to, and records what became of it; see breaker_call.h, which has to be
  // included.
  template <typename Fn>
  auto Call(Fn&& fn, const BreakerCall& call);
  template <typename Fn>
  auto Call(Fn&& fn);

  // False when TryAcquire() would refuse; true does not promise that it admits. One read.
  bool MayAdmit(MonotonicTime now) const { return admits_from() <= now; }
  // When MayAdmit() turns true by time alone.
  MonotonicTime admits_from() const {
    return MonotonicTime::FromNanos(admits_from_.load(std::memory_order_acquire));
  }

  // It would admit a call, and only to find out how the peer is.
  bool IsDueForProbe(MonotonicTime now) const {
    const BreakerState at = state();
    return (at == BreakerState::kOpen || at == BreakerState::kHalfOpen) && MayAdmit(now);
  }

  // It neither refuses nor ramps up: TryAcquire() would admit any number of calls.
  bool AdmitsAll() const { return AdmitsAll(word_.load(std::memory_order_acquire)); }

  // Back to CLOSED with nothing counted.
  void Reset(MonotonicTime now);
  // The same, but for a state that an operator's word or the rules set: what it judged is gone, and
  // another one is in its place.
  void OnNewPeer(MonotonicTime now);
  // To any state, at once and with nothing counted.
  void Force(BreakerState state, MonotonicTime now);
  // Before its first call: begins in `state`, whatever the rules say. No transition, and told to
  // nobody.
  void BeginIn(BreakerState state);
  // Opens it if it is CLOSED, with the reason kShared: others have met what would open it. It
  // waits, probes and closes as ever. False: it was in another state.
  bool OpenByOthers(MonotonicTime now);
  // Makes the transitions that time alone has brought, for those who watch.
  void CatchUp(MonotonicTime now);

  BreakerState state() const { return StateOf(word_.load(std::memory_order_acquire)); }
  Snapshot GetSnapshot(MonotonicTime now) const;
  // The last hundred, the oldest first.
  std::vector<Transition> Events() const;
  const BreakerRules& settings() const { return *rules_; }

 private:
  // The state, whether it ramps up, and above them the generation: one word, so that nobody sees
  // the one without the other.
  static constexpr uint64_t kRampBit = 8;
  static constexpr int kGenerationShift = 8;
  static BreakerState StateOf(uint64_t word) { return static_cast<BreakerState>(word & 7); }
  static uint64_t GenerationOf(uint64_t word) { return word >> kGenerationShift; }
  static bool Ramping(uint64_t word) { return (word & kRampBit) != 0; }
  static bool AdmitsAll(uint64_t word) {
    const BreakerState state = StateOf(word);
    return (state == BreakerState::kClosed && !Ramping(word)) ||
           state == BreakerState::kMetricsOnly || state == BreakerState::kDisabled;
  }
  uint64_t generation() const { return GenerationOf(word_.load(std::memory_order_acquire)); }
  static uint32_t PeriodOf(uint64_t generation) { return static_cast<uint32_t>(generation); }

  Admission AcquireSlow(uint64_t word, MonotonicTime now);
  Admission AcquireLocked(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Admission Refuse(BreakerState state, MonotonicTime now);
  void End(const Permit& permit, bool failed, MonotonicTime now);
  void EndProbe(const Permit& permit, bool failed, bool slow, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountFailure(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetFailures() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls that hang for too long by now.
  void TakeSlowCalls(MonotonicTime now);
  void CountSlowCalls(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What of trip_on is reached.
  BreakerReason RateReason(MonotonicTime now) const;
  BreakerReason TripReason(MonotonicTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TripIfDue(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the transitions that are due.
  void Settle(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enter(BreakerState next, BreakerReason reason, MonotonicTime at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UpdateAdmitsFrom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CallCounts CountsInWindow(MonotonicTime now) const;
  int FailuresInWindow(MonotonicTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int FailuresAt(MonotonicTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the lock, runs `change` and then, without the lock, the listener for the transitions
  // made.
  template <typename Change>
  void Locked(Change change);

  // Read by every call; written at transitions alone, but for any_failure_.
  const std::shared_ptr<const BreakerRules> rules_;
  std::atomic<uint64_t> word_;
  std::atomic<int64_t> admits_from_{0};
  const std::unique_ptr<RateWindow> rate_;  // null: no rate is judged
  const std::unique_ptr<SlowCalls> slow_;   // null: nothing hangs on slow calls
  const bool forgets_;                      // a success forgets failures
  std::atomic<bool> any_failure_{false};    // there is something to forget

  // The others, on lines of their own.
  alignas(64) mutable PlainMutex mutex_;
  const Listener listener_;
  RandomSource* const random_;
  FailureWindow faults_ ABSL_GUARDED_BY(mutex_);
  HalfOpenGate gate_ ABSL_GUARDED_BY(mutex_);
  Ramp ramp_ ABSL_GUARDED_BY(mutex_);
  int consecutive_ ABSL_GUARDED_BY(mutex_) = 0;
  int failed_half_opens_ ABSL_GUARDED_BY(mutex_) = 0;  // in a row
  MonotonicTime opened_at_ ABSL_GUARDED_BY(mutex_);
  absl::Duration open_for_ ABSL_GUARDED_BY(mutex_);
  int failures_at_opening_ ABSL_GUARDED_BY(mutex_) = 0;
  CallCounts calls_at_opening_ ABSL_GUARDED_BY(mutex_);
  BreakerReason reason_ ABSL_GUARDED_BY(mutex_) = BreakerReason::kNone;
  bool announcing_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t times_opened_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t probes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_by_ramp_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> refused_{0};
  BreakerEvents events_ ABSL_GUARDED_BY(mutex_);
  std::vector<Transition> unannounced_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_CIRCUIT_BREAKER_H_
