// The instance with the fewest calls under way, by its weight, of a few that are drawn.
#ifndef MARPC_LOADBALANCE_LEAST_REQUEST_H_
#define MARPC_LOADBALANCE_LEAST_REQUEST_H_

#include <memory>

#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

class LeastRequest final : public LoadBalancer {
 public:
  explicit LeastRequest(int choices = 2);
  absl::string_view name() const override { return "p2c"; }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override;

 private:
  const int choices_;
  const std::shared_ptr<const AttemptListener> listener_;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_LEAST_REQUEST_H_
