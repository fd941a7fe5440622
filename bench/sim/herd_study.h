// All servers of a service go, and one comes back alone, to the load of all of them: is it driven
// down again by those who waited for it?
#ifndef MARPC_BENCH_SIM_HERD_STUDY_H_
#define MARPC_BENCH_SIM_HERD_STUDY_H_

#include <vector>

#include "absl/time/time.h"
#include "bench/sim/fleet.h"

namespace marpc::sim {

struct HerdSettings {
  int clients = 1000;
  // Of each of the three servers, in requests a second; of all clients together, in calls a second.
  double capacity = 50;
  double calls_per_second = 300;
  MethodSettings policy;
  uint64_t seed = 1;

  absl::Duration before = absl::Seconds(30);
  absl::Duration away = absl::Seconds(30);
  absl::Duration alone = absl::Seconds(60);  // one is back
  absl::Duration after = absl::Seconds(90);  // the others are, too
};

struct HerdResult {
  struct Second {
    double load = 0;      // requests at the one that is back first, by its capacity
    double answered = 0;  // calls, by what all three can answer
  };
  std::vector<Second> seconds;
  // The most in a second while it is alone.
  double worst_load = 0;
  // What it answers then, by its capacity; and what all three do in the last ten seconds.
  double answered_alone = 0;
  double answered_after = 0;
};

HerdResult RunHerd(const HerdSettings& settings);

}  // namespace marpc::sim

#endif  // MARPC_BENCH_SIM_HERD_STUDY_H_
