// What a call reads and tells of its service's ejections.
#ifndef MARPC_OUTLIER_EJECTIONS_H_
#define MARPC_OUTLIER_EJECTIONS_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/live_instance.h"
#include "marpc/base/random.h"
#include "marpc/loadbalance/load_balancer.h"
#include "marpc/outlier/outlier_watch.h"

namespace marpc {

// Of one list of instances. Immutable; thread-safe.
class Ejections final : public InstanceGate {
 public:
  Ejections(OutlierWatch::RecordMap records, std::shared_ptr<OutlierWatch> watch)
      : records_(std::move(records)), watch_(std::move(watch)) {}

  // Does what has come due by now. One read, but once an interval.
  void CatchUp(MonotonicTime now, RandomSource& random) const {
    if (now >= watch_->next_tick()) watch_->Tick(now, random);
  }
  // False: MayTake() is true of all.
  bool AnyEjected() const { return watch_->ejected() > 0; }
  bool MayTake(const LiveInstance* instance, MonotonicTime) const override {
    const auto found = records_.find(instance);
    return found == records_.end() || !found->second->ejected.load(std::memory_order_relaxed);
  }
  // Too few are left: all are to be used.
  bool InPanic() const { return watch_->PanicsWith(watch_->ejected(), total()); }
  int total() const { return static_cast<int>(records_.size()); }

  struct Attempt {
    MonotonicTime started_at;
    bool failed = false;
    // None: what it took says nothing of the instance.
    std::optional<absl::Duration> latency;
  };
  // Takes no lock but for an error that may eject, and waits for none.
  void OnAttempt(const LiveInstance* instance, const Attempt& attempt, MonotonicTime now,
                 RandomSource& random) const;

  // An attempt was given up after that time, since a hedge was answered first: its time counts, and
  // nothing else.
  void OnOvertaken(const LiveInstance* instance, MonotonicTime started_at, MonotonicTime now) const;

  const OutlierSettings& settings() const { return watch_->settings(); }

 private:
  const OutlierWatch::RecordMap records_;
  const std::shared_ptr<OutlierWatch> watch_;
};

}  // namespace marpc

#endif  // MARPC_OUTLIER_EJECTIONS_H_
