// The state of a service's outlier ejection, which the lists of its instances share.
#ifndef MARPC_OUTLIER_OUTLIER_WATCH_H_
#define MARPC_OUTLIER_OUTLIER_WATCH_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "marpc/base/clock.h"
#include "marpc/base/live_instance.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/base/random.h"
#include "marpc/config/outlier_settings.h"
#include "marpc/outlier/call_tally.h"
#include "marpc/outlier/ejection.h"
#include "marpc/outlier/outlier_policy.h"

namespace marpc {

struct OutlierListeners;
struct OutlierSnapshot;

// Thread-safe. Part of OutlierDetector and Ejections; calls never wait for its lock.
class OutlierWatch {
 public:
  // Of one instance.
  struct Record {
    explicit Record(std::shared_ptr<LiveInstance> of) : instance(std::move(of)) {}
    const std::shared_ptr<LiveInstance> instance;
    // Read by every call; written when it is ejected or let in again.
    std::atomic<int64_t> counts_from_nanos{0};
    std::atomic<bool> ejected{false};
    // Its error rate was found too high in this interval, and it was spared.
    std::atomic<bool> rate_judged{false};
    std::atomic<int> errors_in_row{0};
    CallTally tally;
    OutlierPolicy::Host host;  // under the lock
    bool listed = false;       // likewise
  };

  OutlierWatch(const OutlierSettings& settings, MonotonicTime start, OutlierListeners listeners);
  ~OutlierWatch();

  MonotonicTime next_tick() const {
    return MonotonicTime::FromNanos(next_tick_nanos_.load(std::memory_order_relaxed));
  }
  int ejected() const { return ejected_.load(std::memory_order_relaxed); }
  bool PanicsWith(int ejected, int total) const {
    return int64_t{100} * (total - ejected) < int64_t{settings_.panic_threshold} * total;
  }
  const OutlierSettings& settings() const { return settings_; }

  // What has come due by `now`, unless another thread is at it.
  void Tick(MonotonicTime now, RandomSource& random);
  void OnConsecutiveErrors(Record& record, MonotonicTime now, RandomSource& random);
  void OnErrorRate(Record& record, MonotonicTime now, RandomSource& random);

  // Off the call path: these wait.
  // SetRecords() and Forget() leave it to Announce() to tell the listeners.
  void SetRecords(std::vector<std::shared_ptr<Record>> records, MonotonicTime now);
  void Announce();
  using RecordMap = absl::flat_hash_map<const LiveInstance*, std::shared_ptr<Record>>;
  RecordMap Records() const;
  void Forget(absl::Span<const LiveInstance* const> instances, MonotonicTime now);
  OutlierSnapshot GetSnapshot(MonotonicTime now, RandomSource& random);

 private:
  // Runs `change` and then, without the lock, tells of what it did. The lock is held and given
  // back.
  template <typename Change>
  void RunLocked(Change change);
  void TickLocked(MonotonicTime now, RandomSource& random) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EjectLocked(Record& record, EjectionReason reason, MonotonicTime now, RandomSource& random)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnEjected(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnBack(Record& record, MonotonicTime due, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartOver(Record& record, MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(const Record& record, MonotonicTime at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const OutlierSettings settings_;
  const std::unique_ptr<const OutlierListeners> listeners_;
  // Read by every call.
  std::atomic<int64_t> next_tick_nanos_;
  std::atomic<int> ejected_{0};

  alignas(64) mutable PlainMutex mutex_;
  OutlierPolicy policy_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Record>> records_ ABSL_GUARDED_BY(mutex_);
  std::deque<EjectionEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<EjectionEvent> untold_ ABSL_GUARDED_BY(mutex_);
  bool telling_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace marpc

#endif  // MARPC_OUTLIER_OUTLIER_WATCH_H_
