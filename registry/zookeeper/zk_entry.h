// One entry of this process in ZooKeeper: put there, looked after, taken away.
#ifndef MARPC_REGISTRY_ZOOKEEPER_ZK_ENTRY_H_
#define MARPC_REGISTRY_ZOOKEEPER_ZK_ENTRY_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/registry/backend.h"
#include "marpc/registry/zookeeper/zk_link.h"

namespace marpc {

// Knows what is wanted and what is known, and does one step after the other until they agree; one
// request is under way at a time. For the loop's thread only.
//
// A node of ours is one whose ephemeralOwner is the present session. Any other that stands in its
// place (what a former life of the process, or a former session, left behind; what someone put
// there) goes with its former session, sooner or later, and would leave this process without an
// entry. So it is deleted, guarded by its version, and made anew.
class ZkEntry {
 public:
  ZkEntry(ZkLink& link, std::shared_ptr<Entry> entry);
  ~ZkEntry();
  ZkEntry(const ZkEntry&) = delete;
  ZkEntry& operator=(const ZkEntry&) = delete;

  const std::string& path() const { return path_; }

  // Connected, in a session that has not ended since or in a new one.
  void OnConnected();
  // The session has ended; no callback of it will come.
  void OnSessionEnded();
  // No server has answered for long.
  void OnLost();
  // Its node may have changed; also called from time to time without a reason.
  void Check();

  void Change();
  // `on_done` is called once, and may destroy this.
  void Withdraw(Backend::Done on_done);

 private:
  void Step();
  void Create();
  void OnCreated(absl::Status status);
  void Inspect();
  void TakeOver(int32_t version);
  void Delete(int32_t version);
  void Write();
  void LookAtNode();
  void Leave();
  void RemoveOwnNode();
  void OnLeft(absl::Status status);
  // The step is done, or could not be done and is tried again later.
  void Next();
  void Retry(const absl::Status& why);

  ZkLink& link_;
  const std::shared_ptr<Entry> entry_;
  const std::string path_;

  bool busy_ = false;     // a request is under way
  bool placed_ = false;   // the node is there and ours
  bool changed_ = false;  // its data is to be written
  bool check_due_ = false;
  bool forgot_old_left_ = false;
  bool warned_ = false;
  Backend::Done on_done_;  // set: the entry is to go

  absl::Duration retry_delay_;
  EventLoop::TimerId timer_ = 0;
  // Two processes that both claim the endpoint must not take it from each other without pause.
  MonotonicTime takeover_allowed_;
  absl::Duration takeover_delay_;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_ZOOKEEPER_ZK_ENTRY_H_
