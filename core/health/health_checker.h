// Asks the instances of a service how they are, every so often, and keeps calls off those that are
// not well.
//
//   auto checker = std::make_shared<HealthChecker>(settings, service, environment, listeners);
//   state.health = checker->ForInstances(instances);     // whenever the list has changed
//   ...
//   if (state.health->AnyUnhealthy()) gate = state.health.get();   // before a pick
//
// An instance is healthy until it was found otherwise: unhealthy_threshold failed checks in a row
// make it unhealthy, healthy_threshold good ones healthy again. The first check comes within a
// tenth of the interval, later ones an interval after the last, give or take a tenth, so that a
// fleet of consumers does not ask in step. One that is unhealthy gets calls only where a call could
// use no other.
//
// Apart from outlier ejection and breakers, which go by calls; neither is asked, or told.
#ifndef MARPC_HEALTH_HEALTH_CHECKER_H_
#define MARPC_HEALTH_HEALTH_CHECKER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "marpc/base/clock.h"
#include "marpc/base/live_instance.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/config/health_settings.h"
#include "marpc/health/health_environment.h"
#include "marpc/health/health_gate.h"
#include "marpc/health/instance_health.h"

namespace marpc {

// Null: nobody is told.
struct HealthListeners {
  // Without a lock, one at a time and in the order of the events.
  std::function<void(const HealthEvent&)> on_event;
  // The first answer of an instance that cannot be asked.
  std::function<void(const std::string& instance, const absl::Status&)> on_not_supported;
  // It is about to get calls again. Under the lock: not to come back here.
  std::function<void(LiveInstance&, MonotonicTime)> on_back;
};

struct HealthSnapshot {
  struct Instance {
    std::string name;  // its endpoint
    InstanceHealth health;
  };
  std::vector<Instance> instances;  // those that are checked, in the order of the list
  int unhealthy = 0;
  uint64_t checks = 0;              // answered, or not in time
  std::vector<HealthEvent> events;  // the last hundred, the oldest first
};

// One a service, made with std::make_shared. Thread-safe, but that lists are handed in one after
// the other. Ends with its last reference: checks that are under way tell nobody any more.
class HealthChecker final : public std::enable_shared_from_this<HealthChecker> {
 public:
  // `service` is asked about where the settings name none.
  HealthChecker(const HealthCheckSettings& settings, std::string service,
                HealthEnvironment environment, HealthListeners listeners);

  // Checks these from now on; those that have left are forgotten.
  std::shared_ptr<const HealthGate> ForInstances(
      absl::Span<const std::shared_ptr<LiveInstance>> instances);
  // Other lives of their processes: healthy until found otherwise, and asked as new ones are.
  // Leaves events to Announce(), since it is called under locks.
  void OnNewLives(absl::Span<LiveInstance* const> instances);
  void Announce();
  HealthSnapshot GetSnapshot() const;

 private:
  // Of one instance.
  struct Record {
    std::shared_ptr<LiveInstance> instance;
    InstanceHealth health;
    bool listed = false;
    bool under_way = false;
    MonotonicTime due;
    // An answer to what was asked of a former life says nothing.
    int life = 0;
  };

  void CheckAt(const std::shared_ptr<Record>& record, MonotonicTime when)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnDue(const std::shared_ptr<Record>& record, MonotonicTime due);
  void OnResult(const std::shared_ptr<Record>& record, int life, const HealthProbe::Result& result);
  // The instance has become healthy, or has ceased to be.
  void OnChange(Record& record, MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  MonotonicTime FirstCheck(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  MonotonicTime NextCheck(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double Uniform() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HealthCheckSettings settings_;
  const HealthProbe::Question question_;
  const HealthEnvironment environment_;
  const HealthListeners listeners_;
  const std::shared_ptr<std::atomic<int>> unhealthy_ = std::make_shared<std::atomic<int>>(0);

  mutable PlainMutex mutex_;
  std::vector<std::shared_ptr<Record>> records_ ABSL_GUARDED_BY(mutex_);
  uint64_t checks_ ABSL_GUARDED_BY(mutex_) = 0;
  bool not_supported_told_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<HealthEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<HealthEvent> untold_ ABSL_GUARDED_BY(mutex_);
  bool telling_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace marpc

#endif  // MARPC_HEALTH_HEALTH_CHECKER_H_
