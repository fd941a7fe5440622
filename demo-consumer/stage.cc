#include "demo-consumer/stage.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "marpc/config/load.h"
#include "marpc/registry/registry.h"

namespace demo {
namespace {

constexpr absl::Duration kRegisteredTimeout = absl::Seconds(30);

// What a configuration file of a consumer says. `registry` and `yaml` are what stands below
// `registry:` and below `marpc:`.
std::string ConsumerYaml(absl::string_view environment, absl::string_view registry,
                         absl::string_view yaml) {
  std::string text = absl::StrCat("marpc:\n  app: demo-consumer\n  env: ", environment,
                                  "\n  registry: {", registry, "}\n");
  for (const absl::string_view line : absl::StrSplit(yaml, '\n')) {
    absl::StrAppend(&text, "  ", line, "\n");
  }
  return text;
}

std::string At(const DemoRegistry& registry) {
  return absl::StrCat("address: '", registry.address(), "', sessionTimeout: 2s");
}

absl::StatusOr<std::unique_ptr<marpc::Consumer>> Create(const std::string& yaml,
                                                        marpc::ConsumerOptions options) {
  absl::StatusOr<marpc::Settings> settings = marpc::ParseSettings(yaml, "scene.yaml");
  if (!settings.ok()) return settings.status();
  return marpc::Consumer::Create(*settings, std::move(options));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Stage>> Stage::Build(const Options& options) {
  std::unique_ptr<Stage> stage(new Stage);
  auto registry = StartDemoRegistry(options.registry, options.folder);
  if (!registry.ok()) return registry.status();
  stage->registry_ = *std::move(registry);
  stage->fleet_ = std::make_unique<ProviderFleet>(ProviderFleet::Options{
      options.provider_program, options.folder, stage->registry_->address()});
  absl::Status status = stage->OpenObserver();
  if (status.ok()) status = stage->fleet_->Start(kProviders);
  if (status.ok()) status = stage->WaitUntilRegistered();
  if (!status.ok()) return status;
  return stage;
}

Stage::~Stage() {
  watches_.clear();
  if (observer_ != nullptr) observer_->Close();
}

absl::Status Stage::OpenObserver() {
  absl::StatusOr<marpc::Settings> settings =
      marpc::ParseSettings(ConsumerYaml("demo", At(*registry_), ""), "the demo's observer");
  if (!settings.ok()) return settings.status();
  absl::StatusOr<std::shared_ptr<marpc::Registry>> observer = marpc::OpenRegistry(*settings);
  if (!observer.ok()) return observer.status();
  observer_ = *std::move(observer);
  for (const char* service : {"demo.HelloService", "demo.UserService", "demo.OrderService"}) {
    watches_.push_back(std::make_unique<RegistryWatch>(*observer_, service));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<marpc::Consumer>> Stage::MakeConsumer(
    absl::string_view yaml, marpc::ConsumerOptions options) {
  return Create(ConsumerYaml("demo", At(*registry_), yaml), std::move(options));
}

absl::StatusOr<std::unique_ptr<marpc::Consumer>> Stage::MakeConsumerIn(
    absl::string_view environment, absl::string_view yaml) {
  return Create(ConsumerYaml(environment, At(*registry_), yaml), {});
}

absl::StatusOr<std::unique_ptr<marpc::Consumer>> Stage::MakeConsumerOf(
    const std::vector<std::string>& endpoints, absl::string_view yaml) {
  const std::string list = absl::StrCat("address: static, static: {demo.HelloService: ['",
                                        absl::StrJoin(endpoints, "', '"), "']}");
  return Create(ConsumerYaml("demo", list, yaml), {});
}

absl::Status Stage::WaitUntilRegistered() {
  for (const auto& watch : watches_) {
    absl::Status status = watch->WaitForExactly(fleet_->endpoints(), kRegisteredTimeout);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Stage::Close() {
  absl::Status status;
  while (fleet_->size() > 0) status.Update(fleet_->StopLast());
  return status;
}

}  // namespace demo
