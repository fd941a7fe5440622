#include "marpc/loadbalance/load_balancer.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "marpc/loadbalance/random_balancer.h"
#include "marpc/loadbalance/round_robin.h"

namespace marpc {

std::vector<LiveInstance*> LiveInstancesOf(CandidateList candidates) {
  std::vector<LiveInstance*> instances;
  instances.reserve(candidates.size());
  for (const Candidate* candidate : candidates) instances.push_back(candidate->live);
  return instances;
}

std::vector<std::string> BuiltInLoadBalancers() { return {"random", "roundrobin"}; }

absl::StatusOr<std::unique_ptr<LoadBalancer>> MakeLoadBalancer(absl::string_view name,
                                                               RandomSource& random) {
  if (name == "roundrobin") return std::make_unique<RoundRobin>(random.Below(1'000'000));
  if (name == "random") return std::make_unique<RandomBalancer>();
  return absl::InvalidArgumentError(absl::StrCat("loadbalancer '", name, "' is unknown; known: ",
                                                 absl::StrJoin(BuiltInLoadBalancers(), ", ")));
}

}  // namespace marpc
