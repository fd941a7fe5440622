// What is typed after `marpcctl`.
#ifndef MARPC_TOOLS_MARPCCTL_COMMAND_LINE_H_
#define MARPC_TOOLS_MARPCCTL_COMMAND_LINE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "marpc/config/settings.h"

namespace marpc::ctl {

struct CommandLine {
  std::optional<std::string> registry;
  std::optional<std::string> env;
  std::optional<std::string> config;
  bool help = false;
  std::vector<std::string> words;  // the command and its arguments
};

// InvalidArgument for an option that there is not, or without its value.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

// Where the registry is: what --config says, and over it --registry and --env. InvalidArgument
// where neither says it, or names one that no other process sees.
absl::StatusOr<Settings> SettingsOf(const CommandLine& line);

}  // namespace marpc::ctl

#endif  // MARPC_TOOLS_MARPCCTL_COMMAND_LINE_H_
