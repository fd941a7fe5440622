#include "demo-provider/options.h"

#include <iostream>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "marpc/config/load.h"

namespace demo {
namespace {

struct Flags {
  std::string config;
  std::optional<std::string> registry;
  std::optional<std::string> environment;
  std::optional<std::string> host;
  std::optional<int> port;
  std::optional<std::string> name;
  std::optional<std::string> zone;
  std::optional<int> weight;
  bool gray = false;
};

void Declare(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config, "YAML file, as config/provider.yaml; flags go before it")
      ->type_name("FILE");
  app.add_option("--registry", flags.registry,
                 "where to register: file:/folder or zookeeper://host:port (registry.address)")
      ->type_name("ADDRESS");
  app.add_option("--env", flags.environment, "environment (env)")->type_name("NAME");
  app.add_option("--host", flags.host, "where to listen (provider.host)")->type_name("HOST");
  app.add_option("--port", flags.port, "port to listen on, 0 for any free one (provider.port)")
      ->check(CLI::Range(0, 65535))
      ->type_name("PORT");
  app.add_option("--name", flags.name, "told to consumers as the metadata `name`")
      ->type_name("NAME");
  app.add_option("--zone", flags.zone, "where it runs (provider.zone)")->type_name("ZONE");
  app.add_option("--weight", flags.weight, "share of the traffic, 0 drains it (provider.weight)")
      ->check(CLI::Range(0, 10000))
      ->type_name("N");
  app.add_flag("--gray", flags.gray, "gray from the start (provider.gray)");
}

void Apply(const Flags& flags, marpc::Settings& settings) {
  marpc::ProviderSettings& provider = settings.provider;
  if (flags.registry.has_value()) settings.registry.address = *flags.registry;
  if (flags.environment.has_value()) settings.env = *flags.environment;
  // provider.instance of the file, the original marpc's key, would win over these.
  if (flags.host.has_value() || flags.port.has_value()) provider.instance.clear();
  if (flags.host.has_value()) provider.host = *flags.host;
  if (flags.port.has_value()) provider.port = *flags.port;
  if (flags.name.has_value()) provider.metadata["name"] = *flags.name;
  if (flags.zone.has_value()) provider.zone = *flags.zone;
  if (flags.weight.has_value()) provider.weight = *flags.weight;
  if (flags.gray) provider.gray = true;
}

}  // namespace

std::variant<marpc::Settings, int> ReadCommandLine(int argc, char** argv) {
  CLI::App app(
      "Serves demo.HelloService, demo.UserService and demo.OrderService by marpc until "
      "SIGTERM or SIGINT. Prints `listening on HOST:PORT` when it serves.");
  Flags flags;
  Declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  marpc::Settings settings;
  if (!flags.config.empty()) {
    absl::StatusOr<marpc::Settings> loaded = marpc::LoadSettings(flags.config);
    if (!loaded.ok()) {
      std::cerr << "demo-provider: " << loaded.status().message() << "\n";
      return 1;
    }
    settings = *std::move(loaded);
  }
  Apply(flags, settings);
  return settings;
}

}  // namespace demo
