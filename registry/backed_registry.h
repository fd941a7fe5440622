// The Registry that every kind of registry is: a Backend, and around it what does not depend on the
// kind.
#ifndef MARPC_REGISTRY_BACKED_REGISTRY_H_
#define MARPC_REGISTRY_BACKED_REGISTRY_H_

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "marpc/registry/backend.h"
#include "marpc/registry/event_loop.h"
#include "marpc/registry/fanout.h"
#include "marpc/registry/outcome.h"
#include "marpc/registry/registry.h"
#include "marpc/registry/service_view.h"
#include "marpc/registry/snapshot_store.h"

namespace marpc {

class BackedRegistry final : public Registry,
                             private Backend::Events,
                             public std::enable_shared_from_this<BackedRegistry> {
 public:
  struct Options {
    std::string name;  // the address, for messages
    std::string environment;
    std::string snapshot_dir;
    absl::Duration connect_timeout = absl::Seconds(5);
    ServiceView::Options view;
  };
  using BackendFactory = std::function<std::unique_ptr<Backend>(EventLoop& loop)>;

  // Closed when the last reference is dropped; leases and subscriptions do not count as such.
  // Fails when the process has used up its file descriptors or threads.
  static absl::StatusOr<std::shared_ptr<Registry>> Open(Options options, const Clock& clock,
                                                        const BackendFactory& factory);

  absl::StatusOr<std::unique_ptr<Lease>> Register(absl::string_view service,
                                                  const Instance& instance) override;
  absl::StatusOr<std::unique_ptr<Subscription>> Subscribe(absl::string_view service,
                                                          Listener listener) override;
  absl::Status SetGray(absl::string_view service, const Endpoint& endpoint, bool gray) override;
  absl::Status ClearGray(absl::string_view service) override;
  absl::Status SetDirective(absl::string_view service, absl::string_view key,
                            absl::string_view value) override;
  RegistryState state() const override;
  void Close() override;

 private:
  class EntryLease;
  class SlotSubscription;
  using EntryKey = std::pair<std::string, Endpoint>;

  struct Service {
    Service(ServiceView view, bool passing) : view(std::move(view)), passing(passing) {}
    ServiceView view;
    const bool passing;  // of the moment alone: IsConsumersList()
    std::vector<std::shared_ptr<Fanout::Slot>> slots;
    EventLoop::TimerId change_timer = 0;
    bool write_due = false;
  };
  // A change of marks or directives that waits for a connection.
  struct Operation {
    std::function<void(Backend::Done)> run;
    std::shared_ptr<Outcome> outcome;
    MonotonicTime expires;
  };

  BackedRegistry(Options options, const Clock& clock, std::unique_ptr<Fanout> fanout,
                 std::unique_ptr<EventLoop> loop);

  // Backend::Events
  void OnConnection(RegistryState::Connection connection, absl::string_view detail) override;
  void OnReading(const std::string& service, Reading reading) override;
  void OnBadEntry(absl::string_view where, const absl::Status& why) override;
  void OnRepaired(absl::string_view where, absl::string_view why) override;

  absl::Status CheckOpen() const;
  void EnterOnLoop(std::shared_ptr<Entry> entry);
  void WithdrawOnLoop(const std::shared_ptr<Entry>& entry, std::shared_ptr<Outcome> outcome);
  void AddSlot(const std::string& service, std::shared_ptr<Fanout::Slot> slot);
  void RemoveSlot(const std::string& service, const std::shared_ptr<Fanout::Slot>& slot);
  void Publish(Service& service, const ServiceView::Published& snapshot);
  void ScheduleChange(const std::string& name, Service& service);
  void ScheduleWrite(const std::string& name, Service& service);
  void WriteSnapshot(Service& service);
  absl::Status RunOperation(std::function<void(Backend::Done)> run);
  void StartOperation(Operation operation);
  void WithdrawAll(const std::shared_ptr<Outcome>& outcome);

  const Options options_;
  const Clock& clock_;
  const SnapshotStore store_;
  std::atomic<bool> closed_{false};
  std::once_flag close_once_;

  mutable std::mutex mutex_;
  RegistryState state_;         // under mutex_
  std::set<EntryKey> entered_;  // under mutex_: what has a lease

  // On the loop's thread.
  std::map<std::string, Service> services_;
  std::set<std::shared_ptr<Entry>> entries_;
  // Entries being taken away, each with the one that wants its place, if any.
  std::map<EntryKey, std::shared_ptr<Entry>> leaving_;
  std::deque<Operation> waiting_;
  std::shared_ptr<Outcome> all_withdrawn_;  // set while closing
  std::unique_ptr<Backend> backend_;

  const std::unique_ptr<Fanout> fanout_;
  const std::unique_ptr<EventLoop> loop_;  // last: its thread uses all of the above
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_BACKED_REGISTRY_H_
