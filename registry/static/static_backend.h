// A registry that is a list in the settings: for development, tests, and services behind a fixed
// address.
#ifndef MARPC_REGISTRY_STATIC_STATIC_BACKEND_H_
#define MARPC_REGISTRY_STATIC_STATIC_BACKEND_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "marpc/registry/backend.h"

namespace marpc {

// The list is what consumers see, whoever registers: Register() is accepted and changes nothing, so
// that a provider runs unchanged. Marks are refused: there is no one to share them with.
class StaticBackend final : public Backend {
 public:
  // InvalidArgument names the service and the endpoint that is none or stands there twice.
  static absl::StatusOr<std::unique_ptr<StaticBackend>> Create(
      const std::map<std::string, std::vector<std::string>>& endpoints);

  void Start(Events* events) override;
  void Watch(const std::string& service) override;
  void Unwatch(const std::string&) override {}
  void Enter(std::shared_ptr<Entry> entry) override { entry->registered.store(true); }
  void Change(const std::shared_ptr<Entry>&) override {}
  void Withdraw(std::shared_ptr<Entry> entry, Done done) override;
  void SetGray(const std::string& service, const Endpoint& endpoint, bool gray, Done done) override;
  void ClearGray(const std::string& service, Done done) override;
  void SetDirective(const std::string& service, const std::string& key, const std::string& value,
                    Done done) override;
  void Stop() override {}

 private:
  explicit StaticBackend(std::map<std::string, std::vector<Instance>> services)
      : services_(std::move(services)) {}

  const std::map<std::string, std::vector<Instance>> services_;
  Events* events_ = nullptr;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_STATIC_STATIC_BACKEND_H_
