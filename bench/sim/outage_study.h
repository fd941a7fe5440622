// All servers of a service go and come back: what retries make of the load meanwhile, and how long
// it takes afterwards until calls succeed again.
#ifndef MARPC_BENCH_SIM_OUTAGE_STUDY_H_
#define MARPC_BENCH_SIM_OUTAGE_STUDY_H_

#include <vector>

#include "absl/time/time.h"
#include "bench/sim/fleet.h"

namespace marpc::sim {

struct OutageSettings {
  FleetSettings fleet;
  Server::Condition outage = Server::Condition::kDead;
  absl::Duration before = absl::Seconds(15);
  absl::Duration lasts = absl::Seconds(60);
  absl::Duration after = absl::Seconds(30);
};

struct OutageResult {
  // Arrivals at the servers for each call, while they are away.
  double amplification = 0;
  // From the servers' return until 99 calls of 100 are answered, and stay so. Infinite: not in the
  // time that was looked at.
  absl::Duration recovery;
  std::vector<Slice> slices;
};

OutageResult RunOutage(const OutageSettings& settings);

// The policies that the study compares; each retries up to three times.
MethodSettings NaiveRetries();    // at once, without a budget
MethodSettings DefaultRetries();  // marpc's defaults
MethodSettings HedgedRetries();   // the same with hedging

}  // namespace marpc::sim

#endif  // MARPC_BENCH_SIM_OUTAGE_STUDY_H_
