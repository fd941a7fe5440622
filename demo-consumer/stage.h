// What every scene plays on: a registry, three providers, and consumers as the scene wants them.
#ifndef DEMO_CONSUMER_STAGE_H_
#define DEMO_CONSUMER_STAGE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "demo-consumer/demo_registry.h"
#include "demo-consumer/provider_fleet.h"
#include "demo-consumer/registry_watch.h"
#include "marpc/consumer/consumer.h"

namespace demo {

// For the main thread, which started the processes.
class Stage {
 public:
  struct Options {
    std::string registry;  // file or zookeeper
    std::string provider_program;
    std::string folder;  // for all that is written
  };
  static constexpr int kProviders = 3;

  // Starts registry and providers, and waits until the one lists the others.
  static absl::StatusOr<std::unique_ptr<Stage>> Build(const Options& options);
  ~Stage();

  // A consumer of this registry. `yaml` is what a configuration file has below `marpc:`, without
  // app, env and registry. It knows all of the fleet when a client of it is made.
  absl::StatusOr<std::unique_ptr<marpc::Consumer>> MakeConsumer(
      absl::string_view yaml, marpc::ConsumerOptions options = {});
  // The same with a list of endpoints of demo.HelloService in place of the registry.
  absl::StatusOr<std::unique_ptr<marpc::Consumer>> MakeConsumerOf(
      const std::vector<std::string>& endpoints, absl::string_view yaml);
  // The same in another environment, where there are no providers but those started there.
  absl::StatusOr<std::unique_ptr<marpc::Consumer>> MakeConsumerIn(absl::string_view environment,
                                                                  absl::string_view yaml);

  // Until the registry lists exactly the fleet for each of its services.
  absl::Status WaitUntilRegistered();
  // The end: every provider ends well on SIGTERM.
  absl::Status Close();

  ProviderFleet& fleet() { return *fleet_; }
  DemoRegistry& registry() { return *registry_; }

 private:
  Stage() = default;
  absl::Status OpenObserver();

  std::unique_ptr<DemoRegistry> registry_;
  std::shared_ptr<marpc::Registry> observer_;
  std::vector<std::unique_ptr<RegistryWatch>> watches_;
  std::unique_ptr<ProviderFleet> fleet_;
};

}  // namespace demo

#endif  // DEMO_CONSUMER_STAGE_H_
