// Takes instances that do worse than their peers out of a service for a while.
//
//   OutlierDetector detector(settings, start, listeners);
//   auto ejections = detector.ForInstances(instances, now);  // whenever the list has changed
//   ejections->CatchUp(now, random);                         // before each pick
//   ...
//   ejections->OnAttempt(instance, {started_at, failed, latency}, now, random);
//
// It has no thread and no timer. Instances are compared every `interval`; the comparison that has
// come due is made by whichever call is the first to see it, with the others going on meanwhile,
// and an interval that nobody called in counts when the next call comes. What an instance's own
// calls say (consecutive errors, error rate) is judged at the call that says it.
//
// Ejections are a service's, over all its methods. They are apart from the breakers of instances,
// which judge an instance by itself and refuse calls: an ejection never does. Where it would leave
// nobody, ejected instances are used.
#ifndef MARPC_OUTLIER_OUTLIER_DETECTOR_H_
#define MARPC_OUTLIER_OUTLIER_DETECTOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "marpc/base/clock.h"
#include "marpc/base/live_instance.h"
#include "marpc/base/random.h"
#include "marpc/config/outlier_settings.h"
#include "marpc/outlier/ejection.h"
#include "marpc/outlier/ejections.h"
#include "marpc/outlier/outlier_policy.h"

namespace marpc {

// Null: nobody is told.
struct OutlierListeners {
  // Without a lock, one at a time and in the order of the events: by the thread that caused them,
  // or by one that was causing another just then.
  std::function<void(const EjectionEvent&)> on_event;
  // It is about to be let in again. Under the lock: not to come back here.
  std::function<void(LiveInstance&, MonotonicTime)> on_back;
};

struct OutlierSnapshot {
  struct Instance {
    std::string name;  // its endpoint
    Ejection ejection;
    IntervalCalls calls;  // since the last look; none are counted while it is ejected
    int errors_in_row = 0;
  };
  std::vector<Instance> instances;
  int ejected = 0;
  bool panic = false;  // too few are left: all are used
  OutlierPolicy::Counters counters;
  OutlierPolicy::SuccessRates success_rates;  // of the last interval
  MonotonicTime next_look;
  std::vector<EjectionEvent> events;  // the last hundred, the oldest first
};

// One a service. Thread-safe, but that lists are handed in one after the other; what a call needs
// of it is in Ejections.
class OutlierDetector {
 public:
  // `settings` must be valid. Intervals are counted from `start`.
  OutlierDetector(const OutlierSettings& settings, MonotonicTime start, OutlierListeners listeners);
  ~OutlierDetector();

  // Those of these instances; what is known of others is forgotten. Leaves events to Announce().
  std::shared_ptr<const Ejections> ForInstances(
      absl::Span<const std::shared_ptr<LiveInstance>> instances, MonotonicTime now);
  // Other lives of their processes: what was learned of the former ones no longer holds. Likewise.
  void OnNewLives(absl::Span<const LiveInstance* const> instances, MonotonicTime now);
  // Tells of the events that the two above brought about, which are called under locks.
  void Announce();
  // With what is due by `now` done.
  OutlierSnapshot GetSnapshot(MonotonicTime now, RandomSource& random) const;

 private:
  const std::shared_ptr<OutlierWatch> watch_;
};

}  // namespace marpc

#endif  // MARPC_OUTLIER_OUTLIER_DETECTOR_H_
