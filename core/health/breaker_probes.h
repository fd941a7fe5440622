// Probes the breakers of instances with health checks, so that one half-opens and closes without
// traffic (BreakerRules::active_probe).
#ifndef MARPC_HEALTH_BREAKER_PROBES_H_
#define MARPC_HEALTH_BREAKER_PROBES_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "marpc/base/clock.h"
#include "marpc/base/live_instance.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/health/health_environment.h"

namespace marpc {

// Thread-safe. Made with std::make_shared; after its last reference nothing is begun any more.
//
// An instance that cannot be asked (kNotSupported) has not said that it is well: its breaker is
// left to calls, one of which is the probe after half_open_probe_timeout.
class BreakerProbes final : public std::enable_shared_from_this<BreakerProbes> {
 public:
  // Told of the first instance that cannot be asked, without a lock.
  using OnNotSupported = std::function<void(const std::string& instance, const absl::Status&)>;

  BreakerProbes(HealthProbe::Question question, HealthEnvironment environment,
                OnNotSupported on_not_supported = nullptr)
      : question_(std::move(question)),
        environment_(std::move(environment)),
        on_not_supported_(std::move(on_not_supported)) {}

  // As ServiceBreakers::ActiveProbes::at. One check after the other, until the breaker has made up
  // its mind.
  void ProbeAt(const std::shared_ptr<LiveInstance>& instance,
               const std::shared_ptr<CircuitBreaker>& breaker, MonotonicTime when);

 private:
  using Permit = std::optional<CircuitBreaker::Permit>;

  void Probe(const std::shared_ptr<LiveInstance>& instance,
             const std::shared_ptr<CircuitBreaker>& breaker);
  // The breaker's permit, when the check's turn has come; none: there is nothing to probe now.
  Permit Acquire(const std::shared_ptr<LiveInstance>& instance,
                 const std::shared_ptr<CircuitBreaker>& breaker);
  void OnResult(const std::shared_ptr<LiveInstance>& instance,
                const std::shared_ptr<CircuitBreaker>& breaker,
                const CircuitBreaker::Permit& permit, const HealthProbe::Result& result);
  MonotonicTime Now() const { return environment_.clock->Now(); }

  const HealthProbe::Question question_;
  const HealthEnvironment environment_;
  const OnNotSupported on_not_supported_;
  std::atomic<bool> not_supported_told_{false};
  PlainMutex mutex_;
  // Breakers whose check waits for its turn; the check holds them.
  absl::flat_hash_set<const CircuitBreaker*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_HEALTH_BREAKER_PROBES_H_
