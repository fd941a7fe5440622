#include "marpc/loadbalance/pick_walk.h"

namespace marpc {

LiveInstance* PickWalk::Rest(absl::Span<LiveInstance* const> instances,
                             absl::Span<const uint32_t> weights) const {
  if (unreachable_passed_ >= kMaxUnreachable && !any_warming_) return unreachable_;
  // One draw among all that are left, each with its weight and the share of its slow start. Rather
  // a cold instance than one that does not answer.
  LiveInstance* drawn = nullptr;
  bool drawn_reachable = false;
  double sum = 0;
  for (size_t i = 0; i < instances.size(); ++i) {
    LiveInstance* const instance = instances[i];
    if (!query_.MayPick(instance)) continue;
    const bool reachable = query_.Reachable(instance);
    if (!reachable && drawn_reachable) continue;
    if (reachable && !drawn_reachable) {
      drawn = nullptr;
      drawn_reachable = true;
      sum = 0;
    }
    double weight = weights[i];
    if (query_.slow_start != nullptr) weight *= query_.slow_start->Share(instance, query_.now);
    sum += weight;
    if (drawn == nullptr || query_.random.Uniform() * sum < weight) drawn = instance;
  }
  return drawn;
}

}  // namespace marpc
