// One session with ZooKeeper, as the rest of this folder sees it: asynchronous, in terms of
// absl::Status, and with every callback on the registry's EventLoop. The C client's header is
// included by zk_session.cc alone, and a test may put another session here.
#ifndef MARPC_REGISTRY_ZOOKEEPER_ZK_SESSION_H_
#define MARPC_REGISTRY_ZOOKEEPER_ZK_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "marpc/registry/event_loop.h"

namespace marpc {

struct ZkStat {
  int64_t ephemeral_owner = 0;  // 0: persistent
  int64_t created_zxid = 0;
  int64_t modified_zxid = 0;
  absl::Time created;  // by the server's clock
  int32_t version = 0;
};

struct ZkNode {
  std::string data;
  ZkStat stat;
};

// For the loop's thread only, as are its callbacks, which never run inside the call that they
// belong to. Destroying it closes the session; callbacks that are outstanding then are dropped,
// unrun.
//
// Errors: NotFound, AlreadyExists, Aborted (another version), FailedPrecondition (it has children),
// PermissionDenied, Unavailable (the connection broke, or was not there), Internal.
class ZkSession {
 public:
  enum class State { kConnecting, kConnected, kExpired, kAuthFailed };
  struct Events {
    std::function<void(State)> on_state;
    // Something happened to the node, once for each watch that was set; or to its children.
    std::function<void(const std::string& path)> on_watch;
  };
  struct Options {
    std::string hosts;  // host:port,[v6]:port
    absl::Duration timeout = absl::Seconds(10);
    std::string auth;  // user:password, or empty
    // Nodes made are writable by `auth`'s user only, and readable for all.
    bool restrict_writing = false;
  };
  using Factory =
      std::function<absl::StatusOr<std::unique_ptr<ZkSession>>(const Options&, EventLoop&, Events)>;
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using OnStat = absl::AnyInvocable<void(absl::StatusOr<ZkStat>)>;
  using OnNode = absl::AnyInvocable<void(absl::StatusOr<ZkNode>)>;
  using OnNames = absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>)>;

  static constexpr int32_t kAnyVersion = -1;

  // Begins to connect. Unavailable when no host's name can be resolved.
  static absl::StatusOr<std::unique_ptr<ZkSession>> Open(const Options& options, EventLoop& loop,
                                                         Events events);

  virtual ~ZkSession() = default;

  // Known once connected.
  virtual int64_t id() const = 0;
  // The server's address, for messages.
  virtual std::string server() const = 0;

  virtual void Create(const std::string& path, const std::string& data, bool ephemeral,
                      Done done) = 0;
  virtual void Set(const std::string& path, const std::string& data, int32_t version,
                   Done done) = 0;
  virtual void Delete(const std::string& path, int32_t version, Done done) = 0;
  // A watch is set by Exists() whether the node is there or not, by the others only where it is.
  virtual void Exists(const std::string& path, bool watch, OnStat done) = 0;
  virtual void Get(const std::string& path, bool watch, OnNode done) = 0;
  virtual void Children(const std::string& path, bool watch, OnNames done) = 0;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_ZOOKEEPER_ZK_SESSION_H_
