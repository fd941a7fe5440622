// Names in a configuration that stand for code.
#ifndef MARPC_CONFIG_KNOWN_NAMES_H_
#define MARPC_CONFIG_KNOWN_NAMES_H_

#include <string>
#include <vector>

namespace marpc {

// What marpc has built in. A program that registers load balancers of its own adds their names here
// before it loads.
struct KnownNames {
  std::vector<std::string> load_balancers = {
      "random", "roundrobin", "weighted-random", "weighted-roundrobin",
      "p2c",    "peak-ewma",  "ring-hash",       "maglev"};
  std::vector<std::string> registry_schemes = {"zookeeper", "file", "memory", "static"};
};

}  // namespace marpc

#endif  // MARPC_CONFIG_KNOWN_NAMES_H_
