// How long a breaker stays open.
#ifndef MARPC_CIRCUITBREAKER_OPEN_WAIT_H_
#define MARPC_CIRCUITBREAKER_OPEN_WAIT_H_

#include <algorithm>
#include <cmath>

#include "absl/time/time.h"
#include "marpc/base/random.h"
#include "marpc/config/breaker_settings.h"

namespace marpc {

// After `failed` half-open periods in a row that ended in opening again.
inline absl::Duration OpenWait(const BreakerRules& rules, int failed, RandomSource& random) {
  absl::Duration wait = rules.half_open_initial_delay;
  if (failed > 0) {
    // Saturates to an infinite duration.
    wait = rules.half_open_delay * std::pow(rules.half_open_delay_factor, failed - 1);
    wait = std::min(wait, std::max(rules.half_open_max_delay, rules.half_open_delay));
  }
  if (rules.half_open_jitter > 0) wait += wait * (rules.half_open_jitter * random.Uniform());
  return wait;
}

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_OPEN_WAIT_H_
