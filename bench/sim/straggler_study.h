// One request in a hundred takes 50 ms instead of one or two: what hedging makes of the latency,
// and what it costs.
#ifndef MARPC_BENCH_SIM_STRAGGLER_STUDY_H_
#define MARPC_BENCH_SIM_STRAGGLER_STUDY_H_

#include <vector>

#include "absl/time/time.h"
#include "bench/sim/fleet.h"

namespace marpc::sim {

struct StragglerResult {
  std::vector<absl::Duration> latencies;  // ascending
  double arrivals_per_call = 0;

  // Of `percent` of the calls, at most.
  absl::Duration Percentile(double percent) const;
};

// `fleet.server` and `fleet.policy` are set by the study.
StragglerResult RunStragglers(FleetSettings fleet, bool hedging, absl::Duration lasts);

}  // namespace marpc::sim

#endif  // MARPC_BENCH_SIM_STRAGGLER_STUDY_H_
