#include "marpc/circuitbreaker/instance_breakers.h"

#include <algorithm>

namespace marpc {

bool AdmittingAll::MayTake(const LiveInstance* instance, MonotonicTime) const {
  const CircuitBreaker* breaker = breakers_.Of(instance);
  return breaker == nullptr || breaker->AdmitsAll();
}

bool InstanceBreakers::AllRefuse(MonotonicTime now, MonotonicTime* until) const {
  if (breakers_.empty()) return false;
  if (tally_->refusing.load(std::memory_order_relaxed) < static_cast<int>(breakers_.size())) {
    return false;
  }
  PlainMutexLock lock(&mutex_);
  const uint64_t transitions = tally_->transitions.load(std::memory_order_acquire);
  if (transitions == at_transitions_ && now < all_open_until_) {
    *until = all_open_until_;
    return true;
  }
  bool all_open = true;
  *until = MonotonicTime::InfiniteFuture();
  for (const auto& [instance, breaker] : breakers_) {
    if (breaker->MayAdmit(now)) return false;
    // A probe that comes back admits another without a transition.
    all_open = all_open && breaker->state() == BreakerState::kOpen;
    *until = std::min(*until, breaker->admits_from());
  }
  if (all_open) {
    all_open_until_ = *until;
    at_transitions_ = transitions;
  }
  return true;
}

}  // namespace marpc
