// The registry in ZooKeeper: sessions that come and go, and on them entries (ZkEntry) and services
// (ZkService).
#ifndef MARPC_REGISTRY_ZOOKEEPER_ZOOKEEPER_BACKEND_H_
#define MARPC_REGISTRY_ZOOKEEPER_ZOOKEEPER_BACKEND_H_

#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "marpc/registry/backend.h"
#include "marpc/registry/event_loop.h"
#include "marpc/registry/zookeeper/zk_entry.h"
#include "marpc/registry/zookeeper/zk_link.h"
#include "marpc/registry/zookeeper/zk_service.h"
#include "marpc/registry/zookeeper/zk_session.h"

namespace marpc {

// The client says nothing while no server answers: no expiry, no error. So the time without a
// server is measured here:
//
// - after a moment the registry counts as lost, which is said once;
// - after the session's time, the session is given up for a new one. It has ended by then, or will
// soon, whatever the
//   servers say when they are back; and servers that lost their disk refuse the old session's
//   client for ever, because it has seen a later state than theirs, without ever telling it that
//   the session is gone.
class ZookeeperBackend final : public Backend {
 public:
  struct Options {
    ZkSession::Options session;
    std::string root;  // ZkLayout::root
    absl::Duration audit_interval = absl::Seconds(30);
  };

  ZookeeperBackend(Options options, EventLoop& loop, ZkSession::Factory factory = &ZkSession::Open);

  void Start(Events* events) override;
  void Watch(const std::string& service) override;
  void Unwatch(const std::string& service) override;
  void Enter(std::shared_ptr<Entry> entry) override;
  void Change(const std::shared_ptr<Entry>& entry) override;
  void Withdraw(std::shared_ptr<Entry> entry, Done done) override;
  void SetGray(const std::string& service, const Endpoint& endpoint, bool gray, Done done) override;
  void ClearGray(const std::string& service, Done done) override;
  void SetDirective(const std::string& service, const std::string& key, const std::string& value,
                    Done done) override;
  void Stop() override;

 private:
  void OpenSession();
  void EndSession();
  void ReopenAfter(absl::Duration delay);
  absl::Duration NextReopenDelay();
  void OnState(ZkSession::State state);
  void OnConnected();
  void OnDisconnected();
  void OnExpired();
  void OnAuthFailed();
  void OnWatch(const std::string& path);
  void Lose(absl::string_view why);
  void Audit();

  const Options options_;
  EventLoop& loop_;
  const ZkSession::Factory factory_;
  Events* events_ = nullptr;
  ZkLink link_;
  std::unique_ptr<ZkSession> session_;
  EventLoop::TimerId lost_timer_ = 0;
  EventLoop::TimerId reopen_timer_ = 0;
  absl::Duration reopen_delay_;
  std::map<std::shared_ptr<Entry>, std::unique_ptr<ZkEntry>> entries_;
  std::map<std::string, std::shared_ptr<ZkService>> services_;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_ZOOKEEPER_ZOOKEEPER_BACKEND_H_
