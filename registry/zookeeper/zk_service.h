// One service in ZooKeeper, as a consumer follows it.
#ifndef MARPC_REGISTRY_ZOOKEEPER_ZK_SERVICE_H_
#define MARPC_REGISTRY_ZOOKEEPER_ZK_SERVICE_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "marpc/registry/backend.h"
#include "marpc/registry/zookeeper/zk_link.h"

namespace marpc {

// Watches the list of providers, each provider's node, the marks and the directives. A change is
// followed by a round: the lists are read again, then the nodes that are new or have changed, a
// limited number at a time; then a reading is reported. What changes during a round makes another
// one after it, so a burst of changes is two rounds.
//
// Whether entries left or vanished is asked after the list was read: an owner says that it leaves
// before it does, so who sees the entry gone finds that word.
//
// For the loop's thread only.
class ZkService : public std::enable_shared_from_this<ZkService> {
 public:
  ZkService(ZkLink& link, std::string name);
  ZkService(const ZkService&) = delete;
  ZkService& operator=(const ZkService&) = delete;

  // Connected, in the session as before or in a new one. Of the same session the client sets the
  // watches anew by itself, and the server tells what was missed.
  void OnConnected();
  // Watches are gone with it.
  void OnSessionEnded();
  // Reports nothing any more. Answers that are still to come keep the object alive until then.
  void End();
  // A watch has fired for a node of this service.
  void OnChanged(const std::string& path);

 private:
  struct Node {
    bool stale = true;
    std::optional<Instance> instance;
    // Of the version that was warned of.
    int64_t bad_zxid = 0;
  };

  void Schedule(absl::Duration delay);
  void BeginRound();
  void ReadList(const std::string& path, bool watch,
                std::function<void(std::vector<std::string>)> use);
  // Sets a watch that waits for the node to come.
  void AwaitNode(const std::string& path);
  void ReadDirectives();
  void OnDirectives(absl::StatusOr<ZkNode> node);
  void OnLists();
  void ReadNodes();
  void OnNode(const std::string& name, absl::StatusOr<ZkNode> node);
  void OnAnswer();
  void EndRound();
  void Report();
  std::string PathOf(const std::string& name) const;

  ZkLink& link_;
  const std::string name_;
  EventLoop::TimerId timer_ = 0;
  bool scheduled_ = false;
  bool ended_ = false;
  bool dirty_ = false;

  // Of the round under way.
  bool busy_ = false;
  bool failed_ = false;
  bool lists_read_ = false;
  int unanswered_ = 0;
  std::deque<std::string> to_read_;

  std::map<std::string, Node> nodes_;
  std::set<Endpoint> gray_marks_;
  std::set<std::string> left_;
  std::set<std::string> bad_marks_;
  Directives directives_;
  int64_t bad_directives_zxid_ = 0;  // of the version that was warned of
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_ZOOKEEPER_ZK_SERVICE_H_
