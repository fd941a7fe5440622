// The command line of demo-provider.
#ifndef DEMO_PROVIDER_OPTIONS_H_
#define DEMO_PROVIDER_OPTIONS_H_

#include <variant>

#include "marpc/config/settings.h"

namespace demo {

// The settings to run with: those of --config, or the defaults, with the flags on top. Otherwise
// the program's exit code: --help was answered, or the command line or the file is wrong and that
// was said on stderr.
std::variant<marpc::Settings, int> ReadCommandLine(int argc, char** argv);

}  // namespace demo

#endif  // DEMO_PROVIDER_OPTIONS_H_
