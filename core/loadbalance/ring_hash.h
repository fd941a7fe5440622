// Calls of one key go to one instance, by a ring of hashes (hash_ring.h) with bounded loads
// (load_bound.h).
#ifndef MARPC_LOADBALANCE_RING_HASH_H_
#define MARPC_LOADBALANCE_RING_HASH_H_

#include <memory>

#include "marpc/config/load_balance_settings.h"
#include "marpc/loadbalance/hash_picker.h"
#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

class RingHash final : public LoadBalancer {
 public:
  // `bounded_load` as in HashSettings.
  RingHash(const RingSettings& settings, double bounded_load)
      : settings_(settings), bounds_(bounded_load) {}
  absl::string_view name() const override { return "ring-hash"; }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override;

 private:
  const RingSettings settings_;
  LoadBounds bounds_;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_RING_HASH_H_
