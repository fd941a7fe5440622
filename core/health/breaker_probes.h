// Probes the breakers of instances with health checks, so that one half-opens and closes without
// traffic (BreakerRules::active_probe).
#ifndef MARPC_HEALTH_BREAKER_PROBES_H_
#define MARPC_HEALTH_BREAKER_PROBES_H_

#include <memory>
#include <utility>

#include "marpc/base/clock.h"
#include "marpc/base/live_instance.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/health/health_environment.h"

namespace marpc {

// Thread-safe. Made with std::make_shared; after its last reference nothing is begun any more.
class BreakerProbes final : public std::enable_shared_from_this<BreakerProbes> {
 public:
  BreakerProbes(HealthProbe::Question question, HealthEnvironment environment)
      : question_(std::move(question)), environment_(std::move(environment)) {}

  // As ServiceBreakers::ProbeAt. One check after the other, until the breaker has made up its mind.
  void ProbeAt(const std::shared_ptr<LiveInstance>& instance,
               const std::shared_ptr<CircuitBreaker>& breaker, MonotonicTime when);

 private:
  void Probe(const std::shared_ptr<LiveInstance>& instance,
             const std::shared_ptr<CircuitBreaker>& breaker);
  MonotonicTime Now() const { return environment_.clock->Now(); }

  const HealthProbe::Question question_;
  const HealthEnvironment environment_;
};

}  // namespace marpc

#endif  // MARPC_HEALTH_BREAKER_PROBES_H_
