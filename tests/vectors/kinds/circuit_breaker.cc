// marpc and php_redis (breaker): breakers that count failures.
#include "marpc/circuitbreaker/circuit_breaker.h"

#include <map>
#include <string>

#include "tests/vectors/breaker_rig.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {

Json RunCircuitBreaker(const VectorCase& vector) {
  CheckKeys(vector.config, "config",
            {"kind", "enabled", "faultLimit", "windowSizeMs", "halfOpenInitialDelayMs",
             "halfOpenDelayMs", "halfOpenProbes"});
  const CircuitBreakerSettings settings = ToBreakerSettings(vector.config);
  SimulatedClock clock;
  BreakerRig rig(clock, settings.enabled ? &settings : nullptr);
  Json got = Json::array();
  for (const Json& event : vector.input) got.push_back(rig.Apply(event));
  return got;
}

// One breaker a service. Its failures have no window; one success forgets them.
Json RunPhpBreaker(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "failureThreshold", "successThreshold", "timeoutMs", "halfOpenTimeoutMs",
             "halfOpenMaxConcurrent"});
  BreakerRules rules;
  rules.fault_limit = config.value("failureThreshold", 5);
  rules.window_size = absl::InfiniteDuration();
  rules.success_resets = true;
  rules.half_open_initial_delay = rules.half_open_delay =
      Milliseconds(config.value("timeoutMs", Json(30000)));
  rules.half_open_successes = config.value("successThreshold", 3);
  rules.half_open_probes = config.value("halfOpenMaxConcurrent", *rules.half_open_successes);
  rules.half_open_time_limit = Milliseconds(config.value("halfOpenTimeoutMs", Json(10000)));
  SimulatedClock clock;
  std::map<std::string, BreakerRig> rigs;
  Json got = Json::array();
  for (const Json& event : vector.input) {
    BreakerRig& rig =
        rigs.try_emplace(event.value("service", ""), clock, &rules,
                         BreakerHabits{.results_come_alone = true, .half_open_has_timer = true})
            .first->second;
    got.push_back(rig.Apply(event));
  }
  return got;
}

}  // namespace marpc::vectors
