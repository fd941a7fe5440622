// What a registry says of one service, to wait for.
#ifndef DEMO_CONSUMER_REGISTRY_WATCH_H_
#define DEMO_CONSUMER_REGISTRY_WATCH_H_

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "marpc/registry/registry.h"

namespace demo {

// A registry tells its subscribers one after the other in the order in which they came. So what a
// watch made after a client has seen, that client has seen too.
class RegistryWatch {
 public:
  RegistryWatch(marpc::Registry& registry, std::string service);

  // Until the list satisfies `condition`. DeadlineExceeded says what it was to show, `what`, and
  // what it shows instead.
  absl::Status WaitUntil(std::string what,
                         std::function<bool(const marpc::ServiceSnapshot&)> condition,
                         absl::Duration timeout);
  // Until exactly these are listed, by the registry itself and not out of a consumer's memory.
  absl::Status WaitForExactly(const std::set<std::string>& endpoints, absl::Duration timeout);

 private:
  std::string Describe() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string service_;
  absl::Mutex mutex_;
  std::shared_ptr<const marpc::ServiceSnapshot> seen_ ABSL_GUARDED_BY(mutex_);
  absl::Status refused_;
  std::unique_ptr<marpc::Subscription> subscription_;
};

}  // namespace demo

#endif  // DEMO_CONSUMER_REGISTRY_WATCH_H_
