// The instance that is expected to answer first, of a few that are drawn: its latency of late times
// the calls it has under way.
//
// A latency above the average counts at once and in full; it fades, so that an instance that was
// slow is tried again by and by. A failure counts as a slow answer. An instance of which nothing is
// known is tried first, by one call at a time until it has answered.
#ifndef MARPC_LOADBALANCE_PEAK_EWMA_H_
#define MARPC_LOADBALANCE_PEAK_EWMA_H_

#include <memory>

#include "marpc/config/load_balance_settings.h"
#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

class PeakEwma final : public LoadBalancer {
 public:
  explicit PeakEwma(const PeakEwmaSettings& settings = {}, int choices = 2);
  absl::string_view name() const override { return "peak-ewma"; }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override;

 private:
  const double decay_nanos_;
  const int choices_;
  const std::shared_ptr<const AttemptListener> listener_;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_PEAK_EWMA_H_
