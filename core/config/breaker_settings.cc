#include "marpc/config/breaker_settings.h"

namespace marpc {
namespace {

template <typename T>
void Apply(const std::optional<T>& from, T& to) {
  if (from.has_value()) to = *from;
}

}  // namespace

BreakerRules With(BreakerRules rules, const BreakerOverrides& overrides) {
  Apply(overrides.trip_on, rules.trip_on);
  Apply(overrides.fault_limit, rules.fault_limit);
  Apply(overrides.window_size, rules.window_size);
  Apply(overrides.consecutive_failures, rules.consecutive_failures);
  Apply(overrides.failure_rate, rules.failure_rate);
  Apply(overrides.slow_call_rate, rules.slow_call_rate);
  Apply(overrides.slow_call_duration, rules.slow_call_duration);
  Apply(overrides.minimum_calls, rules.minimum_calls);
  Apply(overrides.half_open_initial_delay, rules.half_open_initial_delay);
  Apply(overrides.half_open_delay, rules.half_open_delay);
  Apply(overrides.half_open_probes, rules.half_open_probes);
  Apply(overrides.ramp_up, rules.ramp_up);
  return rules;
}

}  // namespace marpc
