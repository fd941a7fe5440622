#include "marpc/registry/zookeeper/zk_session.h"

#include <netdb.h>
#include <sys/socket.h>
#include <zookeeper/zookeeper.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "marpc/observe/log.h"

namespace marpc {
namespace {

absl::Status ToStatus(int rc, absl::string_view path) {
  const std::string message = absl::StrCat(path, ": ", zerror(rc));
  switch (rc) {
    case ZOK:
      return absl::OkStatus();
    case ZNONODE:
      return absl::NotFoundError(message);
    case ZNODEEXISTS:
      return absl::AlreadyExistsError(message);
    case ZBADVERSION:
      return absl::AbortedError(message);
    case ZNOTEMPTY:
      return absl::FailedPreconditionError(message);
    case ZNOAUTH:
    case ZAUTHFAILED:
    case ZINVALIDACL:
      return absl::PermissionDeniedError(
          absl::StrCat(message, " (see registry.auth and registry.acl)"));
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZINVALIDSTATE:
    case ZCLOSING:
      return absl::UnavailableError(message);
    default:
      return absl::InternalError(message);
  }
}

ZkStat ToZkStat(const Stat& stat) {
  ZkStat result;
  result.ephemeral_owner = stat.ephemeralOwner;
  result.created_zxid = stat.czxid;
  result.modified_zxid = stat.mzxid;
  result.created = absl::FromUnixMillis(stat.ctime);
  result.version = stat.version;
  return result;
}

// Why the client could not begin. The addresses are well-formed, so that these are what it says of
// names that the resolver does not answer.
std::string WhyNot(int error) {
  const bool unknown = error == 0 || error == ENOENT || error == EINVAL;
  return unknown ? "the host cannot be looked up" : std::strerror(error);
}

// The client logs between a failure and its own return, which errno tells of.
void LogFromClient(const char* message) {
  const int error = errno;
  Logger()->debug("zookeeper: {}", message);
  errno = error;
}

// The client calls back on its own threads. What it is given to hold is `this` and slots of
// `slots_`, all of which live until zookeeper_close() has joined those threads, so no callback can
// find its context gone. The callbacks only post to the loop; what is posted looks first whether
// the session is still there.
class ClientSession final : public ZkSession {
 public:
  ClientSession(EventLoop& loop, Events events) : loop_(loop), events_(std::move(events)) {}
  ~ClientSession() override {
    alive_.reset();
    if (handle_ != nullptr) zookeeper_close(handle_);
  }

  absl::Status Connect(const Options& options) {
    restrict_writing_ = options.restrict_writing;
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    // The client splits at the last colon, and would take brackets for a part of the address.
    const std::string hosts = absl::StrReplaceAll(options.hosts, {{"[", ""}, {"]", ""}});
    errno = 0;
    handle_ = zookeeper_init2(hosts.c_str(), &ClientSession::OnEvent,
                              static_cast<int>(absl::ToInt64Milliseconds(options.timeout)), nullptr,
                              this, 0, &LogFromClient);
    if (handle_ == nullptr) {
      return absl::UnavailableError(
          absl::StrCat("cannot begin to connect to ", options.hosts, ": ", WhyNot(errno)));
    }
    if (!options.auth.empty()) {
      zoo_add_auth(handle_, "digest", options.auth.data(), static_cast<int>(options.auth.size()),
                   nullptr, nullptr);
    }
    return absl::OkStatus();
  }

  int64_t id() const override { return zoo_client_id(handle_)->client_id; }
  std::string server() const override {
    // Not zoo_get_current_server(): its text is in a buffer that the client's own threads write
    // too.
    sockaddr_storage address;
    socklen_t size = sizeof(address);
    auto* peer = reinterpret_cast<sockaddr*>(&address);
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    if (zookeeper_get_connected_host(handle_, peer, &size) == nullptr ||
        getnameinfo(peer, size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
      return "";
    }
    return absl::StrCat(host, ":", port);
  }

  void Create(const std::string& path, const std::string& data, bool ephemeral,
              Done done) override {
    // The shared vectors of the client are not const, but it only reads them.
    static ACL restricted[] = {{ZOO_PERM_ALL, ZOO_AUTH_IDS}, {ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE}};
    static const ACL_vector restricted_acl = {2, restricted};
    Slot* slot = Take(path, std::move(done));
    Check(slot, zoo_acreate(
                    handle_, path.c_str(), data.data(), static_cast<int>(data.size()),
                    restrict_writing_ ? &restricted_acl : &ZOO_OPEN_ACL_UNSAFE,
                    ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT,
                    [](int rc, const char*, const void* context) { Finish(context, rc); }, slot));
  }

  void Set(const std::string& path, const std::string& data, int32_t version, Done done) override {
    Slot* slot = Take(path, std::move(done));
    Check(slot, zoo_aset(
                    handle_, path.c_str(), data.data(), static_cast<int>(data.size()), version,
                    [](int rc, const Stat*, const void* context) { Finish(context, rc); }, slot));
  }

  void Delete(const std::string& path, int32_t version, Done done) override {
    Slot* slot = Take(path, std::move(done));
    Check(slot, zoo_adelete(
                    handle_, path.c_str(), version,
                    [](int rc, const void* context) { Finish(context, rc); }, slot));
  }

  void Exists(const std::string& path, bool watch, OnStat done) override {
    Slot* slot = Take(path, [done = std::move(done)](absl::Status status, Result& result) mutable {
      if (!status.ok()) return done(std::move(status));
      done(result.node.stat);
    });
    Check(slot, zoo_awexists(
                    handle_, path.c_str(), watch ? &OnEvent : nullptr, this,
                    [](int rc, const Stat* stat, const void* context) {
                      Result result;
                      if (rc == ZOK) result.node.stat = ToZkStat(*stat);
                      Finish(context, rc, std::move(result));
                    },
                    slot));
  }

  void Get(const std::string& path, bool watch, OnNode done) override {
    Slot* slot = Take(path, [done = std::move(done)](absl::Status status, Result& result) mutable {
      if (!status.ok()) return done(std::move(status));
      done(std::move(result.node));
    });
    Check(slot, zoo_awget(
                    handle_, path.c_str(), watch ? &OnEvent : nullptr, this,
                    [](int rc, const char* value, int size, const Stat* stat, const void* context) {
                      Result result;
                      if (rc == ZOK) result.node.stat = ToZkStat(*stat);
                      // A node without data has -1 bytes.
                      if (rc == ZOK && size > 0) result.node.data.assign(value, size);
                      Finish(context, rc, std::move(result));
                    },
                    slot));
  }

  void Children(const std::string& path, bool watch, OnNames done) override {
    Slot* slot = Take(path, [done = std::move(done)](absl::Status status, Result& result) mutable {
      if (!status.ok()) return done(std::move(status));
      done(std::move(result.names));
    });
    Check(slot, zoo_awget_children(
                    handle_, path.c_str(), watch ? &OnEvent : nullptr, this,
                    [](int rc, const String_vector* names, const void* context) {
                      Result result;
                      if (rc == ZOK) {
                        result.names.assign(names->data, names->data + names->count);
                      }
                      Finish(context, rc, std::move(result));
                    },
                    slot));
  }

 private:
  struct Result {
    ZkNode node;
    std::vector<std::string> names;
  };
  using OnResult = absl::AnyInvocable<void(absl::Status, Result&)>;
  struct Slot {
    ClientSession* session;
    std::string path;
    OnResult on_result;
  };

  Slot* Take(const std::string& path, Done done) {
    return Take(path, OnResult([done = std::move(done)](absl::Status status, Result&) mutable {
                  done(std::move(status));
                }));
  }
  Slot* Take(const std::string& path, OnResult on_result) {
    if (free_.empty()) {
      slots_.emplace_back();
      free_.push_back(&slots_.back());
    }
    Slot* slot = free_.back();
    free_.pop_back();
    *slot = Slot{this, path, std::move(on_result)};
    return slot;
  }
  // A request that was not even taken is answered like others: later.
  static void Check(Slot* slot, int rc) {
    if (rc != ZOK) Finish(slot, rc);
  }

  // On any thread.
  static void Finish(const void* context, int rc, Result result = {}) {
    Slot* slot = static_cast<Slot*>(const_cast<void*>(context));
    slot->session->PostIfAlive(
        [slot, rc, result = std::move(result)](ClientSession& session) mutable {
          OnResult on_result = std::move(slot->on_result);
          absl::Status status = ToStatus(rc, slot->path);
          session.free_.push_back(slot);
          on_result(std::move(status), result);
        });
  }

  static void OnEvent(zhandle_t*, int type, int state, const char* path, void* context) {
    auto* session = static_cast<ClientSession*>(context);
    if (type == ZOO_SESSION_EVENT) {
      session->PostIfAlive([state](ClientSession& s) { s.OnSessionState(state); });
    } else if (path != nullptr) {
      session->PostIfAlive(
          [path = std::string(path)](ClientSession& s) { s.events_.on_watch(path); });
    }
  }

  template <typename F>
  void PostIfAlive(F f) {
    loop_.Post([this, alive = weak_alive_, f = std::move(f)]() mutable {
      if (!alive.expired()) f(*this);
    });
  }

  void OnSessionState(int state) {
    if (state == ZOO_CONNECTED_STATE) return events_.on_state(State::kConnected);
    if (state == ZOO_EXPIRED_SESSION_STATE) return events_.on_state(State::kExpired);
    if (state == ZOO_AUTH_FAILED_STATE) return events_.on_state(State::kAuthFailed);
    events_.on_state(State::kConnecting);
  }

  EventLoop& loop_;
  const Events events_;
  // Gone with the first step of the destructor, on the loop's thread, where it is asked for too.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  const std::weak_ptr<bool> weak_alive_ = alive_;
  bool restrict_writing_ = false;
  std::deque<Slot> slots_;
  std::vector<Slot*> free_;
  zhandle_t* handle_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ZkSession>> ZkSession::Open(const Options& options, EventLoop& loop,
                                                           Events events) {
  auto session = std::make_unique<ClientSession>(loop, std::move(events));
  if (absl::Status status = session->Connect(options); !status.ok()) return status;
  return session;
}

}  // namespace marpc
