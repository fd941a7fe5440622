// So many calls a second, counted over a sliding window.
//
//   RateLimit limit(/*rate=*/100, /*window=*/absl::Seconds(1));
//   if (!limit.TryTake(now)) { Refuse(limit.RetryAfter(now)); }
//
// No time of the window's length ever holds more than rate * window calls; under pressure it admits
// up to a 32nd less. A whole window's calls may come at once: a short window makes traffic smooth.
#ifndef MARPC_LIMIT_RATE_LIMIT_H_
#define MARPC_LIMIT_RATE_LIMIT_H_

#include <cstdint>

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/limit/sliding_count.h"

namespace marpc {

// Thread-safe; takes no lock and allocates nothing. When several threads take what is the last
// call, it may be given to none of them, but never to two.
class RateLimit {
 public:
  // `rate` is above 0, in calls a second. A window too short for one call is lengthened to hold it.
  RateLimit(double rate, absl::Duration window);

  // `share`, in (0, 1]: the part of the limit that this kind of call may fill, at least one call.
  bool TryTake(MonotonicTime now, double share = 1);
  // The call that was admitted at `at` is not made.
  void GiveBack(MonotonicTime at) { taken_.TakeBack(at); }
  // Until a call that is counted now is forgotten.
  absl::Duration RetryAfter(MonotonicTime now) const { return taken_.UntilFewer(now); }

  int64_t calls() const { return calls_; }
  int64_t taken(MonotonicTime now) const { return taken_.Sum(now); }

 private:
  const int64_t calls_;  // a window
  SlidingCount taken_;
};

}  // namespace marpc

#endif  // MARPC_LIMIT_RATE_LIMIT_H_
