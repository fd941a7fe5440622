#include "demo-consumer/provider_fleet.h"

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace demo {
namespace {

// Retries are for the second hop, from provider to provider.
constexpr char kProviderYaml[] = R"(# The configuration of the demo's providers.
marpc:
  app: demo-provider
  registry:
    sessionTimeout: 2s
  provider:
    propagationDelay: 300ms
    drainTimeout: 5s
  retry:
    maxRetries: 1
    timeout: 2s
)";

}  // namespace

absl::StatusOr<std::unique_ptr<DemoProvider>> ProviderFleet::Launch(
    const std::string& environment) {
  const std::string config = options_.folder + "/provider.yaml";
  std::ofstream(config) << kProviderYaml;
  const std::string name = absl::StrCat("provider-", ++launched_);
  DemoProvider::Options options;
  options.program = options_.program;
  options.config = config;
  options.registry_address = options_.registry_address;
  options.environment = environment;
  options.name = name;
  options.log = absl::StrCat(options_.folder, "/", name, ".log");
  return DemoProvider::Start(options);
}

absl::Status ProviderFleet::Start(int count) {
  for (int i = 0; i < count; ++i) {
    auto provider = Launch("demo");
    if (!provider.ok()) return provider.status();
    providers_.push_back(*std::move(provider));
  }
  for (const auto& provider : providers_) {
    if (absl::Status up = provider->WaitUntilServing(); !up.ok()) return up;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DemoProvider>> ProviderFleet::StartAlone(
    const std::string& environment) {
  auto provider = Launch(environment);
  if (!provider.ok()) return provider;
  if (absl::Status up = (*provider)->WaitUntilServing(); !up.ok()) return up;
  return provider;
}

absl::Status ProviderFleet::Add() {
  auto provider = StartAlone("demo");
  if (provider.ok()) providers_.push_back(*std::move(provider));
  return provider.status();
}

absl::Status ProviderFleet::Replace(size_t index) {
  auto provider = StartAlone("demo");
  if (provider.ok()) providers_.at(index) = *std::move(provider);
  return provider.status();
}

absl::Status ProviderFleet::StopLast() {
  const absl::Status stopped = providers_.back()->Stop();
  providers_.pop_back();
  return stopped;
}

std::set<std::string> ProviderFleet::endpoints() const {
  std::set<std::string> endpoints;
  for (const auto& provider : providers_) endpoints.insert(provider->endpoint());
  return endpoints;
}

absl::Status ProviderFleet::SetAllSick(bool sick) {
  absl::Status status;
  for (const auto& provider : providers_) status.Update(provider->SetSick(sick));
  return status;
}

absl::StatusOr<ProviderFleet::Arrivals> ProviderFleet::CountArrivals() {
  Arrivals arrivals;
  for (const auto& provider : providers_) {
    auto counted = provider->Arrivals();
    if (!counted.ok()) return counted.status();
    arrivals[provider->endpoint()] = *std::move(counted);
  }
  return arrivals;
}

absl::StatusOr<ArrivalCount> ArrivalCount::Begin(ProviderFleet& fleet) {
  absl::StatusOr<ProviderFleet::Arrivals> before = fleet.CountArrivals();
  if (!before.ok()) return before.status();
  return ArrivalCount(fleet, *std::move(before));
}

absl::StatusOr<CountByInstance> ArrivalCount::Of(const std::string& method) const {
  absl::StatusOr<ProviderFleet::Arrivals> now = fleet_->CountArrivals();
  if (!now.ok()) return now.status();
  CountByInstance counts;
  for (auto& [instance, methods] : *now) {
    const auto before = before_.find(instance);
    counts[instance] = methods[method];
    if (before == before_.end()) continue;
    const auto known = before->second.find(method);
    if (known != before->second.end()) counts[instance] -= known->second;
  }
  return counts;
}

absl::StatusOr<int64_t> ArrivalCount::TotalOf(const std::string& method) const {
  absl::StatusOr<CountByInstance> counts = Of(method);
  if (!counts.ok()) return counts.status();
  return Sum(*counts);
}

}  // namespace demo
