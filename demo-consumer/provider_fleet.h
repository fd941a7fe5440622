// The provider processes of the demo, and what arrives at them.
#ifndef DEMO_CONSUMER_PROVIDER_FLEET_H_
#define DEMO_CONSUMER_PROVIDER_FLEET_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "demo-consumer/demo_provider.h"
#include "demo-consumer/evidence.h"

namespace demo {

// Not thread-safe.
class ProviderFleet {
 public:
  struct Options {
    std::string program;  // the path of demo-provider
    std::string folder;   // for the providers' configuration and logs
    std::string registry_address;
  };
  explicit ProviderFleet(Options options) : options_(std::move(options)) {}

  // Starts `count` processes and waits until they serve.
  absl::Status Start(int count);
  // One more.
  absl::Status Add();
  // A new process for one that was killed.
  absl::Status Replace(size_t index);
  // SIGTERM to the last one, which ends well or the error says how it ended.
  absl::Status StopLast();
  // A process that is no part of the fleet, in an environment of its own.
  absl::StatusOr<std::unique_ptr<DemoProvider>> StartAlone(const std::string& environment);

  size_t size() const { return providers_.size(); }
  DemoProvider& at(size_t index) { return *providers_.at(index); }
  std::set<std::string> endpoints() const;
  absl::Status SetAllSick(bool sick);
  // What each process was called so far: by endpoint, then by method.
  using Arrivals = std::map<std::string, std::map<std::string, int64_t>>;
  absl::StatusOr<Arrivals> CountArrivals();

 private:
  absl::StatusOr<std::unique_ptr<DemoProvider>> Launch(const std::string& environment);

  const Options options_;
  int launched_ = 0;
  std::vector<std::unique_ptr<DemoProvider>> providers_;
};

// What arrives from its making on.
class ArrivalCount {
 public:
  static absl::StatusOr<ArrivalCount> Begin(ProviderFleet& fleet);

  // Calls of `method` (Add, UserService/Get) so far, by instance.
  absl::StatusOr<CountByInstance> Of(const std::string& method) const;
  absl::StatusOr<int64_t> TotalOf(const std::string& method) const;

 private:
  ArrivalCount(ProviderFleet& fleet, ProviderFleet::Arrivals before)
      : fleet_(&fleet), before_(std::move(before)) {}

  ProviderFleet* fleet_;
  ProviderFleet::Arrivals before_;
};

}  // namespace demo

#endif  // DEMO_CONSUMER_PROVIDER_FLEET_H_
