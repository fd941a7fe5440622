// What the parts of the ZooKeeper registry share: the session, if there is one, and the layout of
// its nodes:
//
//   <chroot>/marpc/<env>/<service>/
//     providers/<endpoint>   ephemeral; protobuf JSON of marpc.InstanceRecord
//     gray/<endpoint>        persistent; a mark
//     left/<owner>           persistent; the owner took its entry away; for an hour
//     directives             persistent; protobuf JSON of marpc.DirectivesRecord
//
// Endpoints and owners are encoded by EncodeName().
#ifndef MARPC_REGISTRY_ZOOKEEPER_ZK_LINK_H_
#define MARPC_REGISTRY_ZOOKEEPER_ZK_LINK_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "marpc/registry/backend.h"
#include "marpc/registry/event_loop.h"
#include "marpc/registry/record.h"
#include "marpc/registry/zookeeper/zk_session.h"

namespace marpc {

struct ZkLayout {
  std::string root;  // <chroot>/marpc/<env>

  std::string Providers(const std::string& service) const {
    return absl::StrCat(root, "/", service, "/providers");
  }
  std::string Gray(const std::string& service) const {
    return absl::StrCat(root, "/", service, "/gray");
  }
  std::string Left(const std::string& service) const {
    return absl::StrCat(root, "/", service, "/left");
  }
  std::string Directives(const std::string& service) const {
    return absl::StrCat(root, "/", service, "/directives");
  }
  std::string Below(const std::string& folder, absl::string_view text) const {
    return absl::StrCat(folder, "/", EncodeName(text));
  }
};

struct ZkLink {
  EventLoop& loop;
  const ZkLayout layout;
  Backend::Events* events = nullptr;
  // Null while not connected.
  ZkSession* session = nullptr;

  bool connected() const { return session != nullptr; }
};

// As ZkSession::Create(), and makes the nodes above where they are missing.
void CreateWithParents(ZkLink& link, const std::string& path, const std::string& data,
                       bool ephemeral, ZkSession::Done done);

// Removes what says of owners that they left, where that is an hour old.
void ForgetOldLeft(ZkLink& link, const std::string& service);

}  // namespace marpc

#endif  // MARPC_REGISTRY_ZOOKEEPER_ZK_LINK_H_
