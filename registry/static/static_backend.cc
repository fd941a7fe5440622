#include "marpc/registry/static/static_backend.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/registry/record.h"

namespace marpc {
namespace {

absl::Status NoMarks() {
  return absl::UnimplementedError(
      "a static: registry cannot hold gray marks; mark in this process with consumer.gray(), or "
      "use "
      "a registry that is shared");
}

}  // namespace

absl::StatusOr<std::unique_ptr<StaticBackend>> StaticBackend::Create(
    const std::map<std::string, std::vector<std::string>>& endpoints) {
  std::map<std::string, std::vector<Instance>> services;
  for (const auto& [service, texts] : endpoints) {
    if (absl::Status status = CheckServiceName(service); !status.ok()) return status;
    std::set<Endpoint> seen;
    for (const std::string& text : texts) {
      absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(text);
      if (!endpoint.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("registry.static, ", service, ": ", endpoint.status().message()));
      }
      if (!seen.insert(*endpoint).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("registry.static, ", service, ": ", text, " stands there twice"));
      }
      Instance instance;
      instance.endpoint = *std::move(endpoint);
      instance.owner = "static";
      services[service].push_back(std::move(instance));
    }
  }
  return std::unique_ptr<StaticBackend>(new StaticBackend(std::move(services)));
}

void StaticBackend::Start(Events* events) {
  events_ = events;
  events_->OnConnection(RegistryState::Connection::kConnected, "a list in the settings");
}

void StaticBackend::Watch(const std::string& service) {
  Reading reading;
  const auto found = services_.find(service);
  if (found != services_.end()) reading.instances = found->second;
  events_->OnReading(service, std::move(reading));
}

void StaticBackend::Withdraw(std::shared_ptr<Entry> entry, Done done) {
  entry->registered.store(false);
  done(absl::OkStatus());
}

void StaticBackend::SetGray(const std::string&, const Endpoint&, bool, Done done) {
  done(NoMarks());
}

void StaticBackend::ClearGray(const std::string&, Done done) { done(NoMarks()); }

void StaticBackend::SetDirective(const std::string&, const std::string&, const std::string&,
                                 Done done) {
  done(absl::UnimplementedError(
      "a static: registry cannot hold directives; speak to each process, with "
      "Consumer::ForceBreaker() and Consumer::SetDegradation(), or use a registry that is shared"));
}

}  // namespace marpc
