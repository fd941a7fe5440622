// The breakers of a service's instances, one each: what a call reads of them.
//
// An open one does not refuse calls: the balancer passes its instance over while another is there.
// Its probes are calls like any other, which the balancer may give it again when they are due.
#ifndef MARPC_CIRCUITBREAKER_INSTANCE_BREAKERS_H_
#define MARPC_CIRCUITBREAKER_INSTANCE_BREAKERS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "marpc/base/clock.h"
#include "marpc/base/live_instance.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

// What the breakers tell at their transitions, so that calls need not ask each.
struct InstanceBreakerTally {
  std::atomic<int> refusing{0};  // OPEN, HALF_OPEN or FORCED_OPEN
  std::atomic<uint64_t> transitions{0};
};

class InstanceBreakers;

// Those whose breakers admit every call, not only a share of them.
class AdmittingAll final : public InstanceGate {
 public:
  explicit AdmittingAll(const InstanceBreakers& breakers) : breakers_(breakers) {}
  bool MayTake(const LiveInstance* instance, MonotonicTime now) const override;

 private:
  const InstanceBreakers& breakers_;
};

// The breakers of one list of instances. Immutable; thread-safe.
class InstanceBreakers final : public InstanceGate {
 public:
  using Map = absl::flat_hash_map<const LiveInstance*, std::shared_ptr<CircuitBreaker>>;
  InstanceBreakers(Map breakers, std::shared_ptr<const InstanceBreakerTally> tally)
      : breakers_(std::move(breakers)), tally_(std::move(tally)) {}

  // Null for an instance that is not in the list.
  CircuitBreaker* Of(const LiveInstance* instance) const {
    const auto found = breakers_.find(instance);
    return found == breakers_.end() ? nullptr : found->second.get();
  }
  bool MayTake(const LiveInstance* instance, MonotonicTime now) const override {
    const CircuitBreaker* breaker = Of(instance);
    return breaker == nullptr || breaker->MayAdmit(now);
  }
  bool IsToBeProbed(const LiveInstance* instance, MonotonicTime now) const override {
    const CircuitBreaker* breaker = Of(instance);
    return breaker != nullptr && breaker->IsDueForProbe(now);
  }
  // False: MayTake() is true of all.
  bool AnyRefuses() const { return tally_->refusing.load(std::memory_order_relaxed) > 0; }
  // Does none of them admit a call? Then until when; infinite where it is not time that decides.
  // Cheap but for the first time after a transition.
  bool AllRefuse(MonotonicTime now, MonotonicTime* until) const;
  const AdmittingAll& admitting_all() const { return admitting_all_; }
  const Map& breakers() const { return breakers_; }

 private:
  const Map breakers_;
  const std::shared_ptr<const InstanceBreakerTally> tally_;
  const AdmittingAll admitting_all_{*this};
  mutable PlainMutex mutex_;
  // That all are OPEN until then, as long as there is no further transition.
  mutable MonotonicTime all_open_until_ ABSL_GUARDED_BY(mutex_);
  mutable uint64_t at_transitions_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_INSTANCE_BREAKERS_H_
