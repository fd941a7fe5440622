// The weights of instances, as balancers take them.
#ifndef MARPC_LOADBALANCE_WEIGHTS_H_
#define MARPC_LOADBALANCE_WEIGHTS_H_

#include <cstdint>
#include <set>
#include <vector>

#include "marpc/base/candidate.h"
#include "marpc/base/endpoint.h"
#include "marpc/base/instance.h"
#include "marpc/base/live_instance.h"

namespace marpc {

// The weight, or the default for one that makes no sense.
inline int WeightOf(const Instance& instance) {
  const bool sensible = instance.weight >= 0 && instance.weight <= Instance::kMaxWeight;
  return sensible ? instance.weight : Instance::kDefaultWeight;
}

// Tells people of weights that make no sense, each instance once for as long as it has one. Not
// thread-safe.
class WeightCheck {
 public:
  // As WeightOf().
  int Check(const Instance& instance);

 private:
  std::set<Endpoint> told_;
};

// The candidates of a pool, side by side with their weights; drained ones (weight 0) are left out.
struct WeightedPool {
  explicit WeightedPool(CandidateList candidates);

  std::vector<LiveInstance*> instances;
  std::vector<uint32_t> weights;
  bool all_equal = true;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_WEIGHTS_H_
