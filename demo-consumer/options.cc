#include "demo-consumer/options.h"

#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"

namespace demo {
namespace {

// demo-provider is built beside this program.
std::string ProviderBesideThis() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path().parent_path() / "demo-provider" / "demo-provider").string();
}

void ListScenes() {
  for (const Scene& scene : AllScenes()) {
    std::cout << absl::StrFormat("%2d  %-12s %s\n", scene.number, scene.name, scene.title);
  }
}

}  // namespace

std::variant<Options, int> ReadCommandLine(int argc, char** argv) {
  CLI::App app(
      "Starts three real providers and a registry on loopback, plays every scene on them with real "
      "faults, and stops them. Exits with 0 only if every scene showed what it claims.");
  Options options;
  std::vector<std::string> names;
  bool list = false;
  options.provider_program = ProviderBesideThis();
  app.add_option("--registry", options.registry,
                 "file, the embedded one (default), or zookeeper, a server started for the demo")
      ->check(CLI::IsMember({"file", "zookeeper"}))
      ->type_name("KIND");
  app.add_option("--scene", names, "play only this one, by name or number; may be repeated")
      ->type_name("NAME");
  app.add_flag("--json", options.json,
               "one JSON object a scene, a line each, on stdout; everything else on stderr");
  app.add_flag("--list", list, "list the scenes");
  app.add_option("--provider", options.provider_program, "the program demo-provider")
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  if (list) {
    ListScenes();
    return 0;
  }
  absl::StatusOr<std::vector<Scene>> scenes = ChooseScenes(names);
  if (!scenes.ok()) {
    std::cerr << "demo-consumer: " << scenes.status().message() << "\n";
    return 2;
  }
  options.scenes = *std::move(scenes);
  if (!std::filesystem::exists(options.provider_program)) {
    std::cerr << "demo-consumer: there is no program " << options.provider_program
              << "; build it (cmake --build --preset dev --target demo-provider) or name it with "
                 "--provider\n";
    return 2;
  }
  return options;
}

}  // namespace demo
