#include "tools/marpcctl/command_line.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "marpc/config/faults.h"
#include "marpc/config/load.h"
#include "marpc/registry/address.h"

namespace marpc::ctl {

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments) {
  CommandLine line;
  const std::vector<std::pair<std::string, std::optional<std::string>*>> options = {
      {"--registry", &line.registry}, {"--env", &line.env}, {"--config", &line.config}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!absl::StartsWith(word, "-")) {
      line.words.push_back(word);
      continue;
    }
    if (word == "--help" || word == "-h") {
      line.help = true;
      continue;
    }
    if (absl::StartsWith(word, "--help=")) {
      return absl::InvalidArgumentError("--help takes no value");
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    std::optional<std::string>* target = nullptr;
    std::vector<std::string> known = {"--help"};
    for (const auto& [option, value] : options) {
      known.push_back(option);
      if (option == name) target = value;
    }
    if (target == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("option ", Quote(name), " is unknown", NearestOrKnown(name, known)));
    }
    if (equals != std::string::npos) {
      *target = word.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      *target = arguments[++i];
    }
    if (target->value_or("").empty()) {
      return absl::InvalidArgumentError(absl::StrCat(name, " needs a value"));
    }
  }
  return line;
}

absl::StatusOr<Settings> SettingsOf(const CommandLine& line) {
  if (!line.registry.has_value() && !line.config.has_value()) {
    return absl::InvalidArgumentError(
        "which registry? Say it with --registry zookeeper://host:port or --registry file:/folder, "
        "or with --config and the file that your processes read");
  }
  Settings settings;
  if (line.config.has_value()) {
    // Warnings are for the processes that the file is written for.
    std::vector<std::string> warnings;
    LoadOptions options;
    options.warnings = &warnings;
    absl::StatusOr<Settings> loaded = LoadSettings(*line.config, options);
    if (!loaded.ok()) return loaded.status();
    settings = *std::move(loaded);
  }
  if (line.registry.has_value()) settings.registry.address = *line.registry;
  if (line.env.has_value()) settings.env = *line.env;
  // What a former process knew is not what the registry says.
  settings.registry.snapshot_dir.clear();
  const absl::StatusOr<RegistryAddress> address = ParseRegistryAddress(settings.registry);
  if (!address.ok()) return address.status();
  using Scheme = RegistryAddress::Scheme;
  if (address->scheme == Scheme::kMemory || address->scheme == Scheme::kStatic) {
    return absl::InvalidArgumentError(
        absl::StrCat("the registry ", address->text,
                     " is of one process alone; marpcctl works on zookeeper:// and file:"));
  }
  return settings;
}

}  // namespace marpc::ctl
