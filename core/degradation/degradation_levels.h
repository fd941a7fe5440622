// The levels of a consumer's services, which an operator switches while calls are made.
#ifndef MARPC_DEGRADATION_DEGRADATION_LEVELS_H_
#define MARPC_DEGRADATION_DEGRADATION_LEVELS_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "marpc/config/degradation_settings.h"

namespace marpc {

// The level of one service, as its calls read it. Thread-safe.
class DegradationSwitch {
 public:
  explicit DegradationSwitch(DegradationLevel level) : level_(level) {}

  DegradationLevel level() const { return level_.load(std::memory_order_relaxed); }
  // Returns the former one.
  DegradationLevel Set(DegradationLevel level) { return level_.exchange(level); }

 private:
  std::atomic<DegradationLevel> level_;
};

// Thread-safe. What changes is logged, at `warn`: event=degradation.
class DegradationLevels {
 public:
  // `at_start` says at which level a service begins that nobody has spoken of.
  explicit DegradationLevels(std::function<DegradationLevel(absl::string_view service)> at_start)
      : at_start_(std::move(at_start)) {}

  // Of all services, those that are not known yet included. The last word holds: a later one on a
  // single service changes that one, and a later one on all of them overrides it.
  void Set(DegradationLevel level);
  void Set(absl::string_view service, DegradationLevel level);
  DegradationLevel Of(absl::string_view service) const;

  // For the service's calls: the same one each time.
  std::shared_ptr<const DegradationSwitch> SwitchOf(absl::string_view service);

 private:
  DegradationLevel AtStart(absl::string_view service) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Changes to tell of, once the lock is given back: a log's sink may be slow, or ask.
  struct Change {
    std::string service;
    DegradationLevel from;
    DegradationLevel to;
  };
  using Changes = std::vector<Change>;
  static void Log(const Changes& changes);
  std::shared_ptr<DegradationSwitch>& Switch(absl::string_view service, Changes& changes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<DegradationLevel(absl::string_view)> at_start_;
  mutable absl::Mutex mutex_;
  std::optional<DegradationLevel> of_all_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<DegradationSwitch>, std::less<>> switches_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_DEGRADATION_DEGRADATION_LEVELS_H_
