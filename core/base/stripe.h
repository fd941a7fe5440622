// Counters in several copies, so that threads which count at once do not share a cache line.
#ifndef MARPC_BASE_STRIPE_H_
#define MARPC_BASE_STRIPE_H_

#include <sched.h>

namespace marpc {

// Few, since there may be counters for each of thousands of instances.
inline constexpr int kStripes = 2;

// That of the processor, since two threads that run at once are on two of them.
inline int CurrentStripe() {
  const int processor = sched_getcpu();
  return processor > 0 ? processor % kStripes : 0;
}

}  // namespace marpc

#endif  // MARPC_BASE_STRIPE_H_
