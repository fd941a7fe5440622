// Refuses calls where they are made, while the peer refuses them anyway: a peer that is overloaded
// spends its time on saying no.
//
// A call is refused with the probability max(0, (requests - multiplier * accepts) / (requests +
// 1)), both counted over a sliding window (Site Reliability Engineering, "Handling Overload").
// Calls that are refused here are requests, too; so with multiplier 2 the peer sees about twice
// what it accepts, and finds out by itself when more is possible. As in Envoy's admission control
// the probability is bounded (max_refusal_percent): after an outage, in which nothing is accepted,
// it would let through so little that what comes grows slowly, by a factor of about e a window.
// What the bound lets through is more than twice what a peer accepts that is overloaded tenfold.
#ifndef MARPC_LIMIT_ADAPTIVE_THROTTLE_H_
#define MARPC_LIMIT_ADAPTIVE_THROTTLE_H_

#include "marpc/base/clock.h"
#include "marpc/base/random.h"
#include "marpc/config/limit_settings.h"
#include "marpc/limit/sliding_count.h"

namespace marpc {

// Thread-safe; takes no lock and allocates nothing.
class AdaptiveThrottle {
 public:
  explicit AdaptiveThrottle(const AdaptiveThrottleSettings& settings)
      : multiplier_(settings.multiplier),
        max_refusal_(settings.max_refusal_percent / 100),
        requests_(settings.window),
        accepts_(settings.window) {}

  // False: refuse the call. Draws only while there is something to refuse.
  bool Admits(MonotonicTime now, RandomSource& random);
  // What became of an attempt.
  void OnOutcome(bool accepted, MonotonicTime now);

  double RefusalProbability(MonotonicTime now) const;

 private:
  const double multiplier_;
  const double max_refusal_;
  SlidingCount requests_;
  SlidingCount accepts_;
};

}  // namespace marpc

#endif  // MARPC_LIMIT_ADAPTIVE_THROTTLE_H_
