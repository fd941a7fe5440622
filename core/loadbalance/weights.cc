#include "marpc/loadbalance/weights.h"

#include "marpc/observe/log.h"

namespace marpc {

int WeightCheck::Check(const Instance& instance) {
  const int weight = WeightOf(instance);
  if (weight == instance.weight) {
    if (!told_.empty()) told_.erase(instance.endpoint);
  } else if (told_.insert(instance.endpoint).second) {
    Logger()->warn("event=bad_weight instance={} weight={} what=\"outside 0..{}: {} is taken\"",
                   instance.endpoint.ToString(), instance.weight, Instance::kMaxWeight, weight);
  }
  return weight;
}

WeightedPool::WeightedPool(CandidateList candidates) {
  instances.reserve(candidates.size());
  weights.reserve(candidates.size());
  for (const Candidate* candidate : candidates) {
    const int weight = WeightOf(candidate->instance);
    if (weight == 0) continue;
    instances.push_back(candidate->live);
    weights.push_back(static_cast<uint32_t>(weight));
    all_equal &= weights.back() == weights.front();
  }
}

}  // namespace marpc
