// Calls of one key go to one instance, by Maglev's table (maglev_table.h) with bounded loads
// (load_bound.h).
#ifndef MARPC_LOADBALANCE_MAGLEV_H_
#define MARPC_LOADBALANCE_MAGLEV_H_

#include <memory>

#include "marpc/config/load_balance_settings.h"
#include "marpc/loadbalance/hash_picker.h"
#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

class Maglev final : public LoadBalancer {
 public:
  // `bounded_load` as in HashSettings.
  Maglev(const MaglevSettings& settings, double bounded_load)
      : settings_(settings), bounds_(bounded_load) {}
  absl::string_view name() const override { return "maglev"; }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override;

 private:
  const MaglevSettings settings_;
  LoadBounds bounds_;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_MAGLEV_H_
