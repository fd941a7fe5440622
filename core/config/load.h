// Reading a configuration file.
//
//   absl::StatusOr<marpc::Settings> settings = marpc::LoadSettings("config/consumer.yaml");
//   if (!settings.ok()) { std::cerr << settings.status().message() << "\n"; return 1; }
//
// The file is checked whole: the error names every fault with file, line, column and the way out,
// and nothing of a faulty file takes effect. `${NAME}` and `${NAME:default}` in a value are
// replaced by the environment's; a name that is neither set nor has a default is an error.
//
// The keys are described in docs/configuration.md.
#ifndef MARPC_CONFIG_LOAD_H_
#define MARPC_CONFIG_LOAD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "marpc/config/environment.h"
#include "marpc/config/known_names.h"
#include "marpc/config/settings.h"

namespace marpc {

struct LoadOptions {
  KnownNames known;
  EnvironmentLookup environment = ProcessEnvironment;
  // Where to put what is allowed but hardly meant. Null: it is logged.
  std::vector<std::string>* warnings = nullptr;
};

// NotFound when the file cannot be read, InvalidArgument when something in it is wrong.
absl::StatusOr<Settings> LoadSettings(const std::string& path, const LoadOptions& options = {});

// The same from text; `name` stands for the file in messages.
absl::StatusOr<Settings> ParseSettings(absl::string_view yaml, absl::string_view name,
                                       const LoadOptions& options = {});

}  // namespace marpc

#endif  // MARPC_CONFIG_LOAD_H_
