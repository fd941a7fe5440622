// Serves greeter.Greeter until SIGTERM or SIGINT: greeter_provider provider.yaml
#include "marpc/provider/provider.h"

#include <iostream>
#include <memory>

#include "greeter.marpc.h"
#include "marpc/config/load.h"

class Greeter : public greeter::GreeterHandler {
 public:
  absl::Status Hello(marpc::ServerCall& /*call*/, const greeter::HelloRequest& request,
                     greeter::HelloReply* reply) override {
    if (request.name().empty()) return absl::InvalidArgumentError("who are you?");
    reply->set_message("Hello, " + request.name() + "!");
    return absl::OkStatus();
  }
};

absl::Status Serve(const char* file) {
  absl::StatusOr<marpc::Settings> settings = marpc::LoadSettings(file);
  if (!settings.ok()) return settings.status();
  absl::StatusOr<std::unique_ptr<marpc::Provider>> provider = marpc::Provider::Create(*settings);
  if (!provider.ok()) return provider.status();
  absl::Status added = (*provider)->AddService(std::make_shared<Greeter>());
  if (!added.ok()) return added;
  return (*provider)->Run();
}

int main(int argc, char** argv) {
  const absl::Status status = Serve(argc > 1 ? argv[1] : "provider.yaml");
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
