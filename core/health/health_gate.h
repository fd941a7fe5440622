// What a call reads of its service's health checks.
#ifndef MARPC_HEALTH_HEALTH_GATE_H_
#define MARPC_HEALTH_HEALTH_GATE_H_

#include <atomic>
#include <memory>
#include <utility>

#include "marpc/base/clock.h"
#include "marpc/base/live_instance.h"
#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

// Thread-safe.
class HealthGate final : public InstanceGate {
 public:
  explicit HealthGate(std::shared_ptr<const std::atomic<int>> unhealthy)
      : unhealthy_(std::move(unhealthy)) {}

  // False: MayTake() is true of all. One read.
  bool AnyUnhealthy() const { return unhealthy_->load(std::memory_order_relaxed) > 0; }
  bool MayTake(const LiveInstance* instance, MonotonicTime) const override {
    return !instance->unhealthy();
  }

 private:
  const std::shared_ptr<const std::atomic<int>> unhealthy_;
};

}  // namespace marpc

#endif  // MARPC_HEALTH_HEALTH_GATE_H_
