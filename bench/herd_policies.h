// What the studies of a herd compare, under virtual time and with real processes. Each retries up
// to twice.
#ifndef MARPC_BENCH_HERD_POLICIES_H_
#define MARPC_BENCH_HERD_POLICIES_H_

#include "absl/time/time.h"
#include "marpc/config/settings.h"

namespace marpc::bench {

inline MethodSettings HerdOfNaiveRetries() {
  MethodSettings settings;
  settings.retry.max_retries = 2;
  settings.retry.timeout = absl::Seconds(1);
  settings.retry.budget.enabled = false;
  return settings;
}

// A breaker an instance, with a ramp.
inline MethodSettings HerdWithBreakers() {
  MethodSettings settings = HerdOfNaiveRetries();
  settings.retry.budget.enabled = true;
  CircuitBreakerSettings& breaker = settings.circuit_breaker;
  breaker.enabled = true;
  breaker.scope = {.service = false, .method = false, .instance = true};
  breaker.fault_limit = 3;
  breaker.half_open_jitter = 0.5;
  breaker.ramp_up = absl::Seconds(10);
  return settings;
}

// The same, and limit.throttle.
inline MethodSettings HerdWithThrottle() {
  MethodSettings settings = HerdWithBreakers();
  settings.limit.throttle.enabled = true;
  settings.limit.throttle.multiplier = 1.2;
  settings.limit.throttle.window = absl::Seconds(30);
  return settings;
}

}  // namespace marpc::bench

#endif  // MARPC_BENCH_HERD_POLICIES_H_
