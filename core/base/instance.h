// One provider process as a registry knows it.
#ifndef MARPC_BASE_INSTANCE_H_
#define MARPC_BASE_INSTANCE_H_

#include <map>
#include <string>
#include <vector>

#include "marpc/base/endpoint.h"

namespace marpc {

// A value type. What each field means to routing is said in docs/guide/registry.md.
struct Instance {
  static constexpr int kDefaultWeight = 100;
  static constexpr int kMaxWeight = 1'000'000;

  Endpoint endpoint;
  std::string app;
  std::string zone;
  std::string version;
  std::string group;
  std::vector<std::string> tags;
  // Gray by its own metadata. Marks set at runtime are in ServiceSnapshot::gray_marks.
  bool gray = false;
  // Relative share of the traffic; 0 means drained. What is outside 0..kMaxWeight makes no sense,
  // and consumers take the default for it (loadbalance/weights.h).
  int weight = kDefaultWeight;
  std::map<std::string, std::string> metadata;
  // Tells one life of a process from the next on the same endpoint; set by the registry where left
  // empty.
  std::string owner;

  friend bool operator==(const Instance&, const Instance&) = default;
};

}  // namespace marpc

#endif  // MARPC_BASE_INSTANCE_H_
