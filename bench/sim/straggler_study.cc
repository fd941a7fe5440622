#include "bench/sim/straggler_study.h"

#include <algorithm>
#include <cmath>

#include "bench/sim/outage_study.h"

namespace marpc::sim {

absl::Duration StragglerResult::Percentile(double percent) const {
  if (latencies.empty()) return absl::ZeroDuration();
  const double rank = std::ceil(percent / 100 * static_cast<double>(latencies.size()));
  return latencies[std::min(static_cast<size_t>(std::max(rank, 1.0)), latencies.size()) - 1];
}

StragglerResult RunStragglers(FleetSettings fleet, bool hedging, absl::Duration lasts) {
  // Enough workers that nobody queues behind a straggler: what it costs its neighbours is another
  // matter.
  fleet.server.workers = 64;
  fleet.server.stragglers = 0.01;
  fleet.server.straggler_takes = absl::Milliseconds(50);
  fleet.server.least = absl::Microseconds(500);
  fleet.server.mean_extra = absl::Microseconds(500);
  fleet.policy = hedging ? HedgedRetries() : DefaultRetries();
  Fleet load(fleet);
  // A client hedges once it has seen enough answers.
  load.RunFor(absl::Seconds(15));
  load.Forget();
  const size_t from = load.slices().size();
  load.RunFor(lasts);

  StragglerResult result;
  result.latencies = load.latencies();
  std::sort(result.latencies.begin(), result.latencies.end());
  const Slice sum = Sum(load.slices(), from, load.slices().size());
  result.arrivals_per_call = static_cast<double>(sum.arrivals) / static_cast<double>(sum.calls);
  return result;
}

}  // namespace marpc::sim
