// Each instance of a pool in its turn. One rotation a service and pool, shared by all threads, so
// that neither the number of threads nor the calls to other services skew it; it starts at random,
// so that a fleet of consumers does not start at the same instance.
#ifndef MARPC_LOADBALANCE_ROUND_ROBIN_H_
#define MARPC_LOADBALANCE_ROUND_ROBIN_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

class RoundRobin final : public LoadBalancer {
 public:
  // The rotation of every pool begins at `start`.
  explicit RoundRobin(uint64_t start) : start_(start) {}
  absl::string_view name() const override { return "roundrobin"; }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override;

 private:
  const uint64_t start_;
  // Outlives changes of the list.
  std::map<std::string, std::shared_ptr<std::atomic<uint64_t>>, std::less<>> rotations_;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_ROUND_ROBIN_H_
