// What the services of one consumer have in common.
#ifndef MARPC_CONSUMER_CONSUMER_CONTEXT_H_
#define MARPC_CONSUMER_CONSUMER_CONTEXT_H_

#include <memory>

#include "marpc/base/clock.h"
#include "marpc/base/timer_queue.h"
#include "marpc/config/settings.h"
#include "marpc/consumer/consumer.h"
#include "marpc/degradation/degradation_levels.h"
#include "marpc/health/health_probe.h"
#include "marpc/invoker/in_flight_calls.h"
#include "marpc/retry/shared_by_name.h"
#include "marpc/transport/transport.h"

namespace marpc {

class Alerts;
class CacheFilter;
class GrayMarks;
class MockFilter;
class Registry;
class RetryBudget;
class RetryThrottle;

// Set up by Consumer::Create() and not changed after it; every part is thread-safe.
struct ConsumerContext {
  Settings settings;
  ConsumerOptions options;
  std::shared_ptr<Registry> registry;
  std::shared_ptr<Transport> transport;
  const Clock& clock = Clock::Real();
  MonotonicTime created_at;
  TimerQueue timers;
  // Calls, and health checks.
  const std::shared_ptr<InFlightCalls> in_flight = std::make_shared<InFlightCalls>();
  std::shared_ptr<HealthProbe> health_probe;  // asks at once
  std::shared_ptr<MockFilter> mock;
  std::shared_ptr<CacheFilter> cache;
  std::unique_ptr<GrayMarks> gray;
  DegradationLevels degradation{
      [this](absl::string_view service) { return settings.ForService(service).degradation_level; }};
  std::shared_ptr<Alerts> alerts;  // null: nobody is told
  const std::unique_ptr<SharedByName<RetryBudget>> budgets =
      std::make_unique<SharedByName<RetryBudget>>();
  const std::unique_ptr<SharedByName<RetryThrottle>> throttles =
      std::make_unique<SharedByName<RetryThrottle>>();
};

}  // namespace marpc

#endif  // MARPC_CONSUMER_CONSUMER_CONTEXT_H_
