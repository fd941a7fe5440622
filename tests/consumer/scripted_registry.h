// A registry whose lists the test gives out, each heard before Publish() returns.
#ifndef MARPC_TESTS_CONSUMER_SCRIPTED_REGISTRY_H_
#define MARPC_TESTS_CONSUMER_SCRIPTED_REGISTRY_H_

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "marpc/registry/registry.h"

namespace marpc::testing {

class ScriptedRegistry final : public Registry {
 public:
  // Subscribers come from one thread, and none is left when the registry ends.
  void Publish(const std::string& service, std::vector<Instance> instances,
               Directives directives = {}) {
    auto list = std::make_shared<ServiceSnapshot>();
    list->service = service;
    list->instances = std::move(instances);
    list->directives = std::move(directives);
    std::sort(list->instances.begin(), list->instances.end(),
              [](const Instance& a, const Instance& b) { return a.endpoint < b.endpoint; });
    list->confirmed_at = Clock::Real().Now();
    lists_[service] = list;
    if (const auto listener = listeners_.find(service); listener != listeners_.end()) {
      listener->second(list);
    }
  }
  static Instance At(const std::string& endpoint) {
    Instance instance;
    instance.endpoint = *Endpoint::Parse(endpoint);
    return instance;
  }
  // The services that are, or were, subscribed to.
  std::vector<std::string> subscribed() const {
    std::vector<std::string> services;
    for (const auto& [service, listener] : listeners_) services.push_back(service);
    return services;
  }

  absl::StatusOr<std::unique_ptr<Lease>> Register(absl::string_view, const Instance&) override {
    return absl::UnimplementedError("scripted");
  }
  absl::StatusOr<std::unique_ptr<Subscription>> Subscribe(absl::string_view service,
                                                          Listener listener) override {
    listeners_[std::string(service)] = listener;
    if (const auto list = lists_.find(std::string(service)); list != lists_.end()) {
      listener(list->second);
    }
    return std::make_unique<Subscription>();
  }
  absl::Status SetGray(absl::string_view, const Endpoint&, bool) override {
    return absl::UnimplementedError("scripted");
  }
  absl::Status ClearGray(absl::string_view) override {
    return absl::UnimplementedError("scripted");
  }
  RegistryState state() const override {
    RegistryState state;
    state.connection = RegistryState::Connection::kConnected;
    return state;
  }
  void Close() override {}

 private:
  std::map<std::string, std::shared_ptr<const ServiceSnapshot>> lists_;
  std::map<std::string, Listener> listeners_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_CONSUMER_SCRIPTED_REGISTRY_H_
