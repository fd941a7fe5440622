// The embedded registry: a folder that the processes of one machine share. On a local file system:
// the kernel tells only of changes that were made on this machine.
#ifndef MARPC_REGISTRY_FILE_FILE_BACKEND_H_
#define MARPC_REGISTRY_FILE_FILE_BACKEND_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "marpc/registry/backend.h"
#include "marpc/registry/event_loop.h"
#include "marpc/registry/file/entry_file.h"
#include "marpc/registry/file/file_layout.h"
#include "marpc/registry/file/file_service.h"
#include "marpc/registry/file/inotify.h"

namespace marpc {

// Whoever removes folders with all that is in them must not find something made anew in the middle
// of it, so what is missing is made again only so much later.
inline constexpr absl::Duration kFolderPatience = absl::Milliseconds(100);

// The folder is made at the start, but none above it. When it vanishes later, that is an outage
// until someone puts it (or another) back; it is not made again, as it may only have been moved
// away.
class FileBackend final : public Backend {
 public:
  struct Options {
    absl::Duration audit_interval;
    absl::Duration connect_timeout;  // so long callers wait for an answer
  };
  FileBackend(FileLayout layout, Options options, EventLoop& loop);

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
  struct Own {
    OwnedEntryFile file;
    absl::Duration retry_delay;
    EventLoop::TimerId retry = 0;
    bool repair_due = false;
    bool warned = false;
  };
  struct Withdrawal {
    std::shared_ptr<Entry> entry;
    Own own;
    Done done;
  };
  using OwnEntries = std::map<std::shared_ptr<Entry>, Own>;
  // By path.
  using OwnPaths = std::map<std::string, std::shared_ptr<Entry>>;

  // The folder as a whole.
  void TryConnect();
  absl::Status Connect();
  absl::Status MakeFolder() const;
  void Lose(absl::string_view why);
  // False, and lost, when the folder is not the one that is watched.
  bool CheckFolder();
  void CheckRegularly();
  void OnInotify();

  // What is in it.
  FileService& ServiceOf(const std::string& name);
  // Ends what ServiceOf() began, where neither a subscription nor an entry needs it any more.
  void ForgetIfUnused(const std::string& name);
  void ArmService(const std::string& name);
  void ArmSoon(const std::string& name);
  void CheckSoon(const std::string& service, const std::string& file_name);
  void Report(const std::string& service);
  std::string PathOf(const Entry& entry) const;
  void Place(const std::shared_ptr<Entry>& entry, Own& own);
  void OnNotPlaced(const std::shared_ptr<Entry>& entry, Own& own, const absl::Status& why);
  // The first of the service's own entries; own_at_.end() where there is none.
  OwnPaths::const_iterator EntriesOf(const std::string& service) const;
  void RepairEntriesOf(const std::string& service);
  void RepairEntriesAt(const std::string& service, const std::set<std::string>& file_names);
  void RepairIfGone(const std::string& path, const std::shared_ptr<Entry>& entry);
  void Repair(const std::shared_ptr<Entry>& entry);
  void FinishWithdrawal(Withdrawal withdrawal);
  absl::Status Answer(absl::Status status);
  struct DirectiveChange {
    std::string service;
    std::string key;
    std::string value;
    MonotonicTime give_up_at;
  };
  void TryChange(DirectiveChange change, Done done);

  const FileLayout layout_;
  const absl::Duration audit_interval_;
  const absl::Duration lock_patience_;
  EventLoop& loop_;
  Events* events_ = nullptr;

  bool connected_ = false;
  bool ever_connected_ = false;
  absl::Duration retry_delay_;
  std::unique_ptr<Inotify> inotify_;
  int folder_watch_ = -1;
  std::pair<dev_t, ino_t> folder_id_;
  // Of entries and subscriptions alike: who has an entry wants to know when it vanishes.
  std::map<std::string, FileService> services_;
  std::set<std::string> subscribed_;
  std::set<std::string> arming_;
  std::set<std::string> warned_services_;
  OwnEntries own_;
  OwnPaths own_at_;
  std::vector<Withdrawal> withdrawing_;  // until the folder is back
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_FILE_FILE_BACKEND_H_
