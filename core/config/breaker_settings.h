// What a circuit breaker goes by; docs/guide/circuit-breaking.md explains it key by key.
#ifndef MARPC_CONFIG_BREAKER_SETTINGS_H_
#define MARPC_CONFIG_BREAKER_SETTINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace marpc {

// What a breaker stands for. Several at once: a call needs a permit of each.
struct BreakerScopes {
  bool service = true;
  bool method = false;
  bool instance = false;

  friend bool operator==(const BreakerScopes&, const BreakerScopes&) = default;
};

// What opens a breaker; whichever comes first. Each has its threshold in the field of its name.
struct BreakerTrips {
  bool fault_limit = true;
  bool consecutive_failures = false;
  bool failure_rate = false;
  bool slow_call_rate = false;
  bool failed_calls = false;

  // Are calls counted in the rate window?
  bool rates() const { return failure_rate || slow_call_rate || failed_calls; }
  friend bool operator==(const BreakerTrips&, const BreakerTrips&) = default;
};

enum class RateWindowKind { kTime, kCalls };
// What decides in HALF_OPEN.
enum class HalfOpenJudge { kCount, kRate };
// What a HALF_OPEN that has lasted for half_open_time_limit ends in.
enum class HalfOpenUndecided { kOpen, kClosed };
enum class BreakerInitialState { kClosed, kForcedOpen, kDisabled, kMetricsOnly };

// Of one breaker. Rates are percents.
struct BreakerRules {
  BreakerTrips trip_on;

  // fault_limit failures within window_size.
  int fault_limit = 5;
  absl::Duration window_size = absl::Seconds(10);
  // One success forgets the failures before it. Off: failures count for as long as they are inside
  // the window.
  bool success_resets = false;

  int consecutive_failures = 5;

  // Of the calls in the rate window, once there are minimum_calls.
  double failure_rate = 50;
  double slow_call_rate = 50;
  int failed_calls = 10;
  // A call is slow when it takes longer.
  absl::Duration slow_call_duration = absl::Seconds(1);
  // A slow call is a failure, whatever it answers.
  bool slow_calls_fail = false;
  RateWindowKind rate_window = RateWindowKind::kTime;
  absl::Duration rate_window_size = absl::Seconds(10);  // of kTime
  int rate_window_buckets = 10;                         // of kTime
  int rate_window_calls = 100;                          // of kCalls
  int minimum_calls = 20;
  // May a call that succeeded, and was not slow, be the one that opens it?
  bool success_may_trip = true;

  // From opening to the first probe, and from failed probes to the next.
  absl::Duration half_open_initial_delay = absl::Milliseconds(10000);
  absl::Duration half_open_delay = absl::Milliseconds(5000);
  // Each half_open_delay in a row is this many times as long as the one before, up to the maximum
  // (or half_open_delay, where that is longer).
  double half_open_delay_factor = 1;
  absl::Duration half_open_max_delay = absl::Minutes(5);
  // Chance lengthens each of these waits by up to this part of it.
  double half_open_jitter = 0;
  // Off: closed again when the wait is over, without probes.
  bool half_open = true;
  int half_open_probes = 1;
  HalfOpenJudge half_open_judged_by = HalfOpenJudge::kCount;
  // Of kCount: so many successes close it, so many failures open it. Unset: as many as probes.
  std::optional<int> half_open_successes;
  int half_open_failures = 1;
  // A probe that has not ended by then makes room for another. Unset: half_open_delay.
  std::optional<absl::Duration> half_open_probe_timeout;
  absl::Duration half_open_time_limit = absl::ZeroDuration();  // 0: none
  HalfOpenUndecided half_open_undecided = HalfOpenUndecided::kOpen;
  // Probes are no calls but health checks (CircuitBreaker::TryAcquireProbe); calls are refused
  // meanwhile. Where no check comes for half_open_probe_timeout, a call is the probe after all. Of
  // the breakers of instances alone.
  bool active_probe = false;

  // After closing, the share of calls let through grows from ramp_up_from percent to all.
  absl::Duration ramp_up = absl::ZeroDuration();
  double ramp_up_from = 10;

  BreakerInitialState initial_state = BreakerInitialState::kClosed;

  friend bool operator==(const BreakerRules&, const BreakerRules&) = default;
};

// What the breakers of one scope do otherwise than BreakerRules say.
struct BreakerOverrides {
  std::optional<BreakerTrips> trip_on;
  std::optional<int> fault_limit;
  std::optional<absl::Duration> window_size;
  std::optional<int> consecutive_failures;
  std::optional<double> failure_rate;
  std::optional<double> slow_call_rate;
  std::optional<absl::Duration> slow_call_duration;
  std::optional<int> minimum_calls;
  std::optional<absl::Duration> half_open_initial_delay;
  std::optional<absl::Duration> half_open_delay;
  std::optional<int> half_open_probes;
  std::optional<absl::Duration> ramp_up;

  friend bool operator==(const BreakerOverrides&, const BreakerOverrides&) = default;
};
BreakerRules With(BreakerRules rules, const BreakerOverrides& overrides);

struct CircuitBreakerSettings : BreakerRules {
  bool enabled = false;
  BreakerScopes scope;
  // Failures that count, or do not, against what is said in circuitbreaker/failure_judge.h: names
  // of status codes, or of reasons (marpc/base/error.h). `ignore` wins.
  std::vector<std::string> record;
  std::vector<std::string> ignore;
  BreakerOverrides method;
  BreakerOverrides instance;

  friend bool operator==(const CircuitBreakerSettings&, const CircuitBreakerSettings&) = default;
};

// How the consumers of a service tell each other which of their breakers are open.
struct SharedBreakerSettings {
  bool enabled = false;
  // A breaker opens when this many percent of the consumers have opened theirs of that name by
  // what they met themselves, and at least min_consumers of them.
  int quorum = 50;
  int min_consumers = 2;
  // What one consumer has to say of one service is written at most once in so long.
  absl::Duration write_interval = absl::Seconds(1);

  friend bool operator==(const SharedBreakerSettings&, const SharedBreakerSettings&) = default;
};

}  // namespace marpc

#endif  // MARPC_CONFIG_BREAKER_SETTINGS_H_
