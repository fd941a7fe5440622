// Each call draws an instance of its pool by weight.
#ifndef MARPC_LOADBALANCE_WEIGHTED_RANDOM_H_
#define MARPC_LOADBALANCE_WEIGHTED_RANDOM_H_

#include <memory>

#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

class WeightedRandom final : public LoadBalancer {
 public:
  absl::string_view name() const override { return "weighted-random"; }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_WEIGHTED_RANDOM_H_
