// Loads a contestant for a while and says how it did.
#ifndef BENCH_E2E_LOAD_H_
#define BENCH_E2E_LOAD_H_

#include <string>

#include "absl/time/time.h"
#include "bench/e2e/contestant.h"

namespace marpc::bench {

// Closed loop: `width` threads that call, or (async) `width` calls in flight.
struct Load {
  bool async = false;
  int width = 1;
  std::string name() const;
};

struct Measured {
  double calls_per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
  double client_cpu_us = 0;  // of this whole process, a call
  int failed = 0;
};

Measured Run(Contestant& contestant, const Load& load, absl::Duration duration);

}  // namespace marpc::bench

#endif  // BENCH_E2E_LOAD_H_
