// One rate limit for each caller, by its name.
#ifndef MARPC_LIMIT_CALLER_RATES_H_
#define MARPC_LIMIT_CALLER_RATES_H_

#include <array>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/limit/rate_limit.h"

namespace marpc {

// Thread-safe. Names come from outside, so that their number is bounded: callers that have not
// called for a window are forgotten when there are too many, and where that makes no room, new
// ones share one limit. A look-up takes a lock that a 16th of the callers share.
class CallerRates {
 public:
  static constexpr int kMostCallers = 16'384;

  CallerRates(double rate, absl::Duration window);

  // That of `caller`; it is good for as long as it is held.
  std::shared_ptr<RateLimit> Of(absl::string_view caller, MonotonicTime now);

 private:
  static constexpr size_t kShards = 16;
  struct alignas(64) Shard {
    PlainMutex mutex;
    std::map<std::string, std::shared_ptr<RateLimit>, std::less<>> callers ABSL_GUARDED_BY(mutex);
    std::shared_ptr<RateLimit> others ABSL_GUARDED_BY(mutex);
    // Looking for those that may be forgotten costs too much to do it for every new name.
    MonotonicTime look_again_at ABSL_GUARDED_BY(mutex);
  };

  const double rate_;
  const absl::Duration window_;
  std::array<Shard, kShards> shards_;
};

}  // namespace marpc

#endif  // MARPC_LIMIT_CALLER_RATES_H_
