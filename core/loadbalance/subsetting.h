// Each process uses a few of the instances, so that neither side has thousands of connections, and
// all processes together load all instances alike.
//
// The instances stand in a circle, in an order that all processes agree on; a process uses the
// `size` that come after its place. Places are spread evenly: process i stands at the fraction of
// i times the golden ratio, so that the first n processes are as far apart as n can be, whatever n
// is, and no process moves when another one comes. When an instance comes or goes, the processes
// whose subset it is in take one other instead, and one in three of the rest shifts by one.
#ifndef MARPC_LOADBALANCE_SUBSETTING_H_
#define MARPC_LOADBALANCE_SUBSETTING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "marpc/base/random.h"
#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

// Where a process stands in the circle.
class SubsetPlace {
 public:
  // Of the process of that number, from 0: a StatefulSet's ordinal, for example.
  static SubsetPlace OfIndex(uint64_t index);
  // Of one that has no number. Loads are then only as even as chance makes them.
  static SubsetPlace Drawn(RandomSource& random) { return SubsetPlace(random.Uniform()); }

  double at() const { return at_; }

 private:
  explicit SubsetPlace(double at) : at_(at) {}
  double at_;  // in [0, 1)
};

// All candidates: those of the subset first, and then the others in the order in which they would
// join it.
std::vector<const Candidate*> InSubsetOrder(CandidateList candidates, SubsetPlace place);

// Balances over a subset of each pool. Where the pool's subset has no reachable instance that the
// call may go to, one of the others is picked.
class Subsetting final : public LoadBalancer {
 public:
  Subsetting(std::unique_ptr<LoadBalancer> balancer, int size, SubsetPlace place);
  absl::string_view name() const override { return balancer_->name(); }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override;

 private:
  const std::unique_ptr<LoadBalancer> balancer_;
  const size_t size_;
  const SubsetPlace place_;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_SUBSETTING_H_
