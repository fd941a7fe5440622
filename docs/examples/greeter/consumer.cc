// Calls greeter.Greeter once: greeter_consumer consumer.yaml Alice
#include "marpc/consumer/consumer.h"

#include <iostream>
#include <memory>
#include <optional>

#include "greeter.marpc.h"
#include "marpc/base/error.h"
#include "marpc/config/load.h"
#include "marpc/retry/retry.h"

bool NoProviderYet(const absl::Status& error) {
  const std::optional<marpc::ErrorInfo> info = marpc::GetErrorInfo(error);
  return info.has_value() && info->reason() == marpc::reason::kNoAvailableInstance;
}

absl::Status Greet(const char* file, const char* name) {
  absl::StatusOr<marpc::Settings> settings = marpc::LoadSettings(file);
  if (!settings.ok()) return settings.status();
  absl::StatusOr<std::unique_ptr<marpc::Consumer>> consumer = marpc::Consumer::Create(*settings);
  if (!consumer.ok()) return consumer.status();

  greeter::GreeterClient client(**consumer);
  greeter::HelloRequest request;
  request.set_name(name);
  // Both may be started at once: waits for a provider, instead of failing without one.
  const marpc::Retry patient =
      marpc::Retry::WhenError(NoProviderYet).InSeconds(10).Sleep(absl::Milliseconds(100));
  absl::StatusOr<greeter::HelloReply> reply = patient.Call([&] { return client.Hello(request); });
  if (!reply.ok()) return reply.status();
  std::cout << reply->message() << "\n";
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  const absl::Status status =
      Greet(argc > 1 ? argv[1] : "consumer.yaml", argc > 2 ? argv[2] : "Alice");
  if (!status.ok()) {
    std::cerr << status.ToString(absl::StatusToStringMode::kWithNoExtraData) << "\n";
  }
  return status.ok() ? 0 : 1;
}
