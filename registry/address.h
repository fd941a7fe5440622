// `scheme://...` or `scheme:...`, as settings.registry.address has it.
#ifndef MARPC_REGISTRY_ADDRESS_H_
#define MARPC_REGISTRY_ADDRESS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "marpc/config/settings.h"

namespace marpc {

// A value type; checked.
struct RegistryAddress {
  enum class Scheme { kZookeeper, kFile, kMemory, kStatic };
  Scheme scheme = Scheme::kStatic;
  // In full, for messages. Holds no secret.
  std::string text;

  // zookeeper: `host:port,host:port`, and "" or `/a/b`.
  std::string hosts;
  std::string chroot;
  // file: an absolute path.
  std::string folder;
  // memory:
  std::string name;
};

// Reads `settings.address`, or, where that is empty, `settings.zk_address`. InvalidArgument names
// the address, what is wrong with it and what is right.
absl::StatusOr<RegistryAddress> ParseRegistryAddress(const RegistrySettings& settings);

}  // namespace marpc

#endif  // MARPC_REGISTRY_ADDRESS_H_
