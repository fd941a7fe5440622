// One provider process of the demo. Serves Hello, User and Order; its second hop, Hello.Context to
// UserService.Context, goes through a consumer of its own on the same registry.
#include <iostream>
#include <memory>
#include <utility>

#include "demo-provider/hello_handler.h"
#include "demo-provider/options.h"
#include "demo-provider/order_handler.h"
#include "demo-provider/user_handler.h"
#include "marpc/consumer/consumer.h"
#include "marpc/provider/provider.h"
#include "marpc/registry/registry.h"

namespace demo {
namespace {

absl::Status Serve(marpc::Provider& provider, marpc::Consumer& consumer) {
  auto hello = std::make_shared<HelloHandler>(consumer, [&provider] { return provider.calls(); });
  absl::Status status = provider.AddService(hello);
  if (status.ok()) status = provider.AddService(std::make_shared<UserHandler>());
  if (status.ok()) status = provider.AddService(std::make_shared<OrderHandler>());
  if (status.ok()) status = provider.Start();
  if (!status.ok()) return status;
  hello->SetInstance(provider.advertised().ToString());
  std::cout << "listening on " << provider.endpoint() << std::endl;
  return provider.Run();
}

absl::Status Run(const marpc::Settings& settings) {
  absl::StatusOr<std::shared_ptr<marpc::Registry>> registry = marpc::OpenRegistry(settings);
  if (!registry.ok()) return registry.status();
  marpc::ConsumerOptions options;
  options.registry = *registry;
  auto consumer = marpc::Consumer::Create(settings, std::move(options));
  if (!consumer.ok()) return consumer.status();
  auto provider = marpc::Provider::Create(settings, *registry);
  if (!provider.ok()) return provider.status();
  const absl::Status status = Serve(**provider, **consumer);
  // The provider is down by now: no handler calls the consumer any more.
  provider->reset();
  (*consumer)->Close();
  (*registry)->Close();
  return status;
}

}  // namespace
}  // namespace demo

int main(int argc, char** argv) {
  const std::variant<marpc::Settings, int> read = demo::ReadCommandLine(argc, argv);
  if (const int* exit_code = std::get_if<int>(&read)) return *exit_code;
  const absl::Status status = demo::Run(std::get<marpc::Settings>(read));
  if (status.ok()) return 0;
  std::cerr << "demo-provider: " << status.message() << "\n";
  return 1;
}
