// Each call draws an instance of its pool, all with the same chance.
#ifndef MARPC_LOADBALANCE_RANDOM_BALANCER_H_
#define MARPC_LOADBALANCE_RANDOM_BALANCER_H_

#include <memory>

#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

class RandomBalancer final : public LoadBalancer {
 public:
  absl::string_view name() const override { return "random"; }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_RANDOM_BALANCER_H_
