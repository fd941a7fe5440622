// Shares the calls over zones by weights, and within a zone as another balancer does.
//
// A zone that is not named gets calls only when the named ones have no instance left that the call
// may go to; so `{local: 1}` keeps calls in this process's zone for as long as it has one.
#ifndef MARPC_LOADBALANCE_LOCALITY_H_
#define MARPC_LOADBALANCE_LOCALITY_H_

#include <memory>
#include <string>

#include "marpc/config/load_balance_settings.h"
#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

class Locality final : public LoadBalancer {
 public:
  // `zone` is where this process runs; settings.zone wins where it is not empty. `balancer` has a
  // pool of its own for each zone.
  Locality(std::unique_ptr<LoadBalancer> balancer, LocalitySettings settings, std::string zone);
  absl::string_view name() const override { return balancer_->name(); }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override;

 private:
  uint32_t WeightOfZone(const std::string& zone) const;

  const std::unique_ptr<LoadBalancer> balancer_;
  const LocalitySettings settings_;
  const std::string zone_;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_LOCALITY_H_
