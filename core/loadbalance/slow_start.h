// Leads an instance that is new, or back, to its full load: balancers pass it over, less and less
// often, for as long as the window lasts.
//
//   slow_start.OnList(instances, now);          // those that are new begin
//   slow_start.OnBack(instance, now);           // let in again, restarted
//   PickQuery query{tried, random, now, ..., slow_start.AnyWarming(now) ? &slow_start : nullptr};
//
// Time runs from when this consumer saw the instance first, or took it back. Shares are relative to
// the service's warmest instance: where all are new, as at the start of a consumer or after an
// outage of the whole service, all are equal and none is starved.
#ifndef MARPC_LOADBALANCE_SLOW_START_H_
#define MARPC_LOADBALANCE_SLOW_START_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "marpc/base/clock.h"
#include "marpc/base/live_instance.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/config/outlier_settings.h"

namespace marpc {

// One a service. Thread-safe; what a pick asks takes no lock.
class SlowStart {
 public:
  static absl::Status Validate(const SlowStartSettings& settings);

  // `settings` must be valid, and their window not 0.
  explicit SlowStart(const SlowStartSettings& settings) : settings_(settings) {}

  // The instances in use from now on; those that were not in use before begin.
  void OnList(absl::Span<const std::shared_ptr<LiveInstance>> instances, MonotonicTime now);
  // These begin (again), before they are used again.
  void OnBack(absl::Span<LiveInstance* const> instances, MonotonicTime now);
  void OnBack(LiveInstance& instance, MonotonicTime now) {
    LiveInstance* const one = &instance;
    OnBack(absl::MakeConstSpan(&one, 1), now);
  }

  // False: every share is 1.
  bool AnyWarming(MonotonicTime now) const {
    return now.nanos() < warming_until_nanos_.load(std::memory_order_relaxed);
  }
  // Of the turns that the service's warmest instance gets; above 0, at most 1.
  double Share(const LiveInstance* instance, MonotonicTime now) const;
  // Does it take the turn that is its own? True for exactly its share of them.
  bool TakesTurn(LiveInstance* instance, MonotonicTime now) const {
    const double share = Share(instance, now);
    return share >= 1 || instance->turns().Take(share);
  }

 private:
  double ShareAt(absl::Duration age) const;
  void Begin(LiveInstance& instance, MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FindOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SlowStartSettings settings_;
  std::atomic<int64_t> warming_until_nanos_{0};
  std::atomic<int64_t> oldest_since_nanos_{0};
  PlainMutex mutex_;
  std::vector<std::shared_ptr<LiveInstance>> instances_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_SLOW_START_H_
