// What consumers are told of one service, given what the registry says: the rules about lists that
// are not to be believed. Knows no I/O and no threads.
#ifndef MARPC_REGISTRY_SERVICE_VIEW_H_
#define MARPC_REGISTRY_SERVICE_VIEW_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/registry/backend.h"
#include "marpc/registry/registry.h"

namespace marpc {

// A list that an earlier process wrote down.
struct StoredList {
  std::vector<Instance> instances;
  std::set<Endpoint> gray_marks;
  // How long ago; the wall clock's business, so not to be relied on.
  absl::Duration age;
  Directives directives = {};
};

// The rules:
//
// - A list with entries is believed at once.
// - An empty one is believed for those entries whose owners left (Reading::left). The others are
//   held: entries that all vanish at once without a word more likely mean a registry that was
//   emptied than a service that ended. They are held for `empty_protection`, then they are dropped.
//   Directives that vanish with them are held as long.
// - While providers come back one by one, after that or after an outage, those not back yet are
//   held for `regroup`: or the first one to be back would be given the load of all.
// - While the registry is lost, the list stays, however long.
// - At a cold start without a registry, the stored list is used.
//
// Not thread-safe.
class ServiceView {
 public:
  struct Options {
    absl::Duration empty_protection = absl::Minutes(10);  // 0: nothing is held
    absl::Duration regroup = absl::Seconds(10);
  };
  using Published = std::shared_ptr<const ServiceSnapshot>;

  ServiceView(std::string service, Options options, std::optional<StoredList> stored);

  // Each answers what to publish, or null where nothing has changed.
  Published OnReading(Reading reading, MonotonicTime now);
  Published OnLost(MonotonicTime now);
  // The registry has not answered in the time that a first answer may take.
  Published OnNoAnswer(MonotonicTime now);
  // To be called at next_change() (or later).
  Published OnTime(MonotonicTime now);

  // When held entries will be dropped. Infinite: none are held.
  MonotonicTime next_change() const {
    return held_.empty() ? MonotonicTime::InfiniteFuture() : hold_until_;
  }
  // The last one published; null before the first.
  const Published& current() const { return current_; }
  // Entries that are shown though the registry no longer has them.
  size_t held() const { return held_.size(); }

 private:
  bool UseStored(MonotonicTime now);
  void Hold(const Reading& reading, MonotonicTime now);
  void HoldDirectives(const Reading& reading);
  Published Publish(ServiceSnapshot::Source source);

  const std::string service_;
  const Options options_;
  std::optional<StoredList> stored_;

  bool lost_ = false;
  bool from_disk_ = false;  // `read_` is
  bool regrouping_ = false;
  std::vector<Instance> read_;  // the last reading
  std::vector<Instance> held_;  // of earlier ones, and not in the last
  std::set<Endpoint> gray_marks_;
  Directives directives_;       // of the last reading
  Directives held_directives_;  // of an earlier one, and gone with the entries that are held
  MonotonicTime hold_until_ = MonotonicTime::InfiniteFuture();
  MonotonicTime settled_at_;  // `regroup` after the registry was back
  MonotonicTime confirmed_at_;
  Published current_;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_SERVICE_VIEW_H_
