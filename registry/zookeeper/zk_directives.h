// Changes one of a service's directives in ZooKeeper, where all of them are one node.
#ifndef MARPC_REGISTRY_ZOOKEEPER_ZK_DIRECTIVES_H_
#define MARPC_REGISTRY_ZOOKEEPER_ZK_DIRECTIVES_H_

#include <string>
#include <utility>

#include "marpc/registry/backend.h"
#include "marpc/registry/zookeeper/zk_link.h"

namespace marpc {

// Reads the node, and writes it only if it is still what was read; else once more, so that nothing
// that others write at the same time is lost. `done` is called once. FailedPrecondition where the
// node holds what cannot be read: to replace it might take away what someone still relies on.
void ChangeDirective(ZkLink& link, const std::string& service,
                     std::pair<std::string, std::string> directive, Backend::Done done);

}  // namespace marpc

#endif  // MARPC_REGISTRY_ZOOKEEPER_ZK_DIRECTIVES_H_
