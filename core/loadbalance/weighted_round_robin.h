// Each instance of a pool in its turn, as often as its weight says and as evenly spread as can be.
//
// The order of turns is worked out when the list changes; a call takes the next one. One rotation a
// service and pool, shared by all threads, that starts at random and goes on across changes of the
// list and of weights: it is kept as the part of a round that is over, which every schedule has.
#ifndef MARPC_LOADBALANCE_WEIGHTED_ROUND_ROBIN_H_
#define MARPC_LOADBALANCE_WEIGHTED_ROUND_ROBIN_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

class WeightedRoundRobin final : public LoadBalancer {
 public:
  // The rotation of every pool begins when `start` / 2^64 of a round is over.
  explicit WeightedRoundRobin(uint64_t start) : start_(start) {}
  absl::string_view name() const override { return "weighted-roundrobin"; }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override;

 private:
  const uint64_t start_;
  // Outlives changes of the list.
  std::map<std::string, std::shared_ptr<std::atomic<uint64_t>>, std::less<>> rotations_;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_WEIGHTED_ROUND_ROBIN_H_
