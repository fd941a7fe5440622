// The operators' command line: marpcctl --help.
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "marpc/registry/address.h"
#include "marpc/registry/registry.h"
#include "tools/marpcctl/command_line.h"
#include "tools/marpcctl/commands.h"

namespace {

constexpr int kFailed = 1;
constexpr int kNotUnderstood = 2;

int Fail(const absl::Status& status, int code) {
  std::cerr << "marpcctl: " << status.message() << "\n";
  if (code == kNotUnderstood) std::cerr << "(marpcctl --help says what there is)\n";
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const auto line = marpc::ctl::ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc));
  if (!line.ok()) return Fail(line.status(), kNotUnderstood);
  if (line->help) {
    std::cout << marpc::ctl::Usage();
    return 0;
  }
  const auto action = marpc::ctl::Understand(line->words);
  if (!action.ok()) return Fail(action.status(), kNotUnderstood);
  const auto settings = marpc::ctl::SettingsOf(*line);
  if (!settings.ok()) return Fail(settings.status(), kNotUnderstood);
  const auto address = marpc::ParseRegistryAddress(settings->registry);
  const std::string where = absl::StrCat(address->text, ", env ", settings->env);
  // To look is not to make folders.
  const std::string folder = absl::StrCat(address->folder, "/", settings->env, "/", action->reads);
  if (address->scheme == marpc::RegistryAddress::Scheme::kFile && !action->reads.empty() &&
      access(folder.c_str(), F_OK) != 0 && errno == ENOENT) {
    std::cerr << action->nothing << " (" << where << "): there is no folder " << folder << "\n";
    return 0;
  }
  const auto registry = marpc::OpenRegistry(*settings);
  if (!registry.ok()) return Fail(registry.status(), kFailed);
  const marpc::ctl::Target target = {**registry, settings->registry.connect_timeout, where,
                                     std::cout, std::cerr};
  const absl::Status status = action->run(target);
  (*registry)->Close();
  return status.ok() ? 0 : Fail(status, kFailed);
}
