// A provider's entries in the registry, from its start to its end.
#ifndef MARPC_PROVIDER_REGISTRATION_H_
#define MARPC_PROVIDER_REGISTRATION_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "marpc/base/instance.h"
#include "marpc/base/wake_up.h"
#include "marpc/registry/registry.h"

namespace marpc {

// Enters every service and watches until the registry has them all. That the registry does not
// answer within `patience` is logged once; the leases go on trying by themselves.
class Registration {
 public:
  // `on_registered` is called once, from a thread of this object, when every entry is in. Fails as
  // Registry::Register() does.
  static absl::StatusOr<std::unique_ptr<Registration>> Open(
      std::shared_ptr<Registry> registry, const std::vector<std::string>& services,
      const Instance& instance, absl::Duration patience, std::function<void()> on_registered);
  // Takes the entries away without waiting for the registry.
  ~Registration();

  // Takes all entries away, waiting for the registry's word for at most `timeout` in all.
  // Idempotent; one thread at a time. `on_registered` is not called any more.
  absl::Status Release(absl::Duration timeout);

 private:
  Registration(std::shared_ptr<Registry> registry, std::function<void()> on_registered)
      : registry_(std::move(registry)), on_registered_(std::move(on_registered)) {}
  void Watch(absl::Duration patience);
  bool AllRegistered() const;

  const std::shared_ptr<Registry> registry_;
  const std::function<void()> on_registered_;
  // Filled before the watching thread starts.
  std::vector<std::unique_ptr<Lease>> leases_;
  WakeUp stopped_;
  std::thread watcher_;
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_REGISTRATION_H_
