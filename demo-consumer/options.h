// The command line of demo-consumer.
#ifndef DEMO_CONSUMER_OPTIONS_H_
#define DEMO_CONSUMER_OPTIONS_H_

#include <string>
#include <variant>
#include <vector>

#include "demo-consumer/scenes/scenes.h"

namespace demo {

struct Options {
  std::string registry = "file";
  std::vector<Scene> scenes;
  bool json = false;
  std::string provider_program;
};

// What to do, or the program's exit code: --help or --list was answered, or the command line is
// wrong and that was said on stderr.
std::variant<Options, int> ReadCommandLine(int argc, char** argv);

}  // namespace demo

#endif  // DEMO_CONSUMER_OPTIONS_H_
