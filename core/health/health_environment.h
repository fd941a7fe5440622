// What health checks run on.
#ifndef MARPC_HEALTH_HEALTH_ENVIRONMENT_H_
#define MARPC_HEALTH_HEALTH_ENVIRONMENT_H_

#include <functional>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "marpc/base/clock.h"
#include "marpc/base/random.h"
#include "marpc/health/health_probe.h"

namespace marpc {

struct HealthEnvironment {
  const Clock* clock = &Clock::Real();
  // Runs a function at that time, or never; without a lock, and not before it returns.
  std::function<void(MonotonicTime, absl::AnyInvocable<void()>)> run_at;
  std::shared_ptr<HealthProbe> probe;
  // Drawn from under a lock. Null: the thread's own.
  RandomSource* random = nullptr;
};

}  // namespace marpc

#endif  // MARPC_HEALTH_HEALTH_ENVIRONMENT_H_
