// What marpcctl can do.
#ifndef MARPC_TOOLS_MARPCCTL_COMMANDS_H_
#define MARPC_TOOLS_MARPCCTL_COMMANDS_H_

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "marpc/registry/registry.h"

namespace marpc::ctl {

struct Target {
  Registry& registry;
  absl::Duration timeout;  // for a list; the registry has its own for changes
  std::string where;       // "file:/run/marpc, env dev"
  std::ostream& out;
  std::ostream& notes;
};

struct Action {
  Action(std::function<absl::Status(const Target&)> run) : run(std::move(run)) {}

  std::function<absl::Status(const Target&)> run;
  // Of one that only reads: the service, and what is said where there is nothing of it.
  std::string reads;
  std::string nothing;
};

// What the words ask for; nothing is done yet. InvalidArgument says what is wrong with them, and
// what is right.
absl::StatusOr<Action> Understand(const std::vector<std::string>& words);

// For --help.
std::string Usage();

}  // namespace marpc::ctl

#endif  // MARPC_TOOLS_MARPCCTL_COMMANDS_H_
