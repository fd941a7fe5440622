#include "marpc/registry/file/file_backend.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/observe/log.h"
#include "marpc/registry/file/directives_file.h"
#include "marpc/registry/record.h"
#include "marpc/registry/text_file.h"

namespace marpc {
namespace {

using Connection = RegistryState::Connection;

// While the folder is away. One look costs one system call.
constexpr absl::Duration kFirstRetry = absl::Milliseconds(20);
constexpr absl::Duration kLastRetry = absl::Milliseconds(250);
// For what no event tells: that a folder above was moved.
constexpr absl::Duration kFolderCheck = absl::Seconds(1);
// Others hold the lock of the directives for moments. Never as long as the caller waits: what it
// was refused must not be done after that.
constexpr absl::Duration kLockRetry = absl::Milliseconds(2);
constexpr absl::Duration kLockPatience = absl::Seconds(2);

}  // namespace

FileBackend::FileBackend(FileLayout layout, Options options, EventLoop& loop)
    : layout_(std::move(layout)),
      audit_interval_(options.audit_interval),
      lock_patience_(std::min(kLockPatience, options.connect_timeout / 2)),
      loop_(loop),
      retry_delay_(kFirstRetry) {}

// --- the folder as a whole

void FileBackend::Start(Events* events) {
  events_ = events;
  TryConnect();
  CheckRegularly();
}

void FileBackend::TryConnect() {
  const absl::Status status = Connect();
  if (status.ok()) {
    retry_delay_ = kFirstRetry;
    return;
  }
  events_->OnConnection(Connection::kLost, status.message());
  loop_.After(retry_delay_, [this] { TryConnect(); });
  retry_delay_ = std::min(retry_delay_ * 2, kLastRetry);
}

absl::Status FileBackend::Connect() {
  if (!ever_connected_) {
    if (absl::Status made = MakeFolder(); !made.ok()) return made;
  }
  struct stat found;
  if (stat(layout_.folder.c_str(), &found) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("the folder '", layout_.folder,
                                                   "' is gone; put it back or make it anew"));
  }
  absl::StatusOr<std::unique_ptr<Inotify>> inotify = Inotify::Open();
  if (!inotify.ok()) return inotify.status();
  absl::StatusOr<int> watch =
      (*inotify)->AddFolder(layout_.folder, IN_MOVE_SELF | IN_DELETE_SELF | IN_ATTRIB);
  if (!watch.ok()) return watch.status();
  inotify_ = *std::move(inotify);
  folder_watch_ = *watch;
  folder_id_ = {found.st_dev, found.st_ino};
  loop_.WatchFd(inotify_->fd(), [this] { OnInotify(); });
  connected_ = ever_connected_ = true;
  events_->OnConnection(Connection::kConnected, layout_.folder);

  std::vector<Withdrawal> withdrawing = std::move(withdrawing_);
  withdrawing_.clear();
  for (Withdrawal& withdrawal : withdrawing) FinishWithdrawal(std::move(withdrawal));
  for (auto& [entry, own] : own_) {
    if (!connected_) break;
    if (own.file.InPlace(PathOf(*entry))) {
      entry->registered.store(true);
    } else {
      Place(entry, own);
    }
  }
  for (auto& [name, service] : services_) {
    if (connected_) ArmService(name);
  }
  return absl::OkStatus();
}

absl::Status FileBackend::MakeFolder() const {
  const std::string above = layout_.folder.substr(0, layout_.folder.rfind('/'));
  if (!above.empty() && access(above.c_str(), F_OK) != 0 && errno == ENOENT) {
    return absl::NotFoundError(absl::StrCat("registry.address: the folder ", above,
                                            " does not exist; create it, or mend the path"));
  }
  return MakeFolders(layout_.folder, above);
}

void FileBackend::Lose(absl::string_view why) {
  if (!connected_) return;
  connected_ = false;
  loop_.UnwatchFd(inotify_->fd());
  inotify_.reset();
  // Entries stay open and locked: when the folder is only moved back, they are there at once.
  for (auto& [entry, own] : own_) entry->registered.store(false);
  events_->OnConnection(Connection::kLost, why);
  loop_.After(retry_delay_, [this] { TryConnect(); });
}

bool FileBackend::CheckFolder() {
  if (!connected_) return false;
  struct stat found;
  if (stat(layout_.folder.c_str(), &found) == 0 &&
      std::make_pair(found.st_dev, found.st_ino) == folder_id_) {
    return true;
  }
  Lose(absl::StrCat("the folder '", layout_.folder, "' was removed or moved away"));
  return false;
}

void FileBackend::CheckRegularly() {
  loop_.After(std::min(kFolderCheck, audit_interval_), [this] { CheckRegularly(); });
  if (!CheckFolder()) return;
  for (auto& [name, service] : services_) {
    if (connected_ && !service.Armed()) ArmService(name);
    if (!connected_) return;
    RepairEntriesOf(name);
    if (service.CheckDoubtful()) Report(name);
  }
}

void FileBackend::OnInotify() {
  std::map<std::string, std::set<std::string>> changed;  // names of files, by service
  bool folder_event = false;
  bool all = false;
  for (const Inotify::Event& event : inotify_->Read()) {
    if (event.mask & IN_Q_OVERFLOW) all = true;
    if (event.watch == folder_watch_) folder_event = true;
    for (auto& [name, service] : services_) {
      if (!service.Watches(event.watch)) continue;
      std::set<std::string>& names = changed[name];
      if (event.name.empty()) continue;
      names.insert(event.name);
      service.CheckEntry(event.name);
      if (event.mask & IN_CLOSE_WRITE) CheckSoon(name, event.name);
    }
  }
  if (folder_event && !CheckFolder()) return;
  for (auto& [name, service] : services_) {
    if (!connected_) return;
    if (all) {
      ArmService(name);
    } else if (!service.Armed()) {
      ArmSoon(name);
    } else if (changed.contains(name)) {
      // Where these fail, CheckRegularly() looks again.
      service.CheckGray().IgnoreError();
      service.CheckDirectives().IgnoreError();
      RepairEntriesAt(name, changed[name]);
      Report(name);
    }
  }
}

void FileBackend::CheckSoon(const std::string& service, const std::string& file_name) {
  // The kernel tells of the close a moment before it drops the lock, so the entry may still look
  // alive.
  for (const int ms : {2, 10, 40}) {
    loop_.After(absl::Milliseconds(ms), [this, service, file_name] {
      const auto found = services_.find(service);
      if (!connected_ || found == services_.end()) return;
      if (found->second.CheckEntry(file_name)) Report(service);
    });
  }
}

// --- what consumers see

FileService& FileBackend::ServiceOf(const std::string& name) {
  auto found = services_.find(name);
  if (found == services_.end()) {
    found = services_.emplace(name, FileService(layout_, name, *events_)).first;
    if (connected_) ArmService(name);
  }
  return found->second;
}

void FileBackend::ForgetIfUnused(const std::string& name) {
  const auto found = services_.find(name);
  if (found == services_.end() || subscribed_.contains(name) || EntriesOf(name) != own_at_.end()) {
    return;
  }
  if (connected_) found->second.Disarm(*inotify_);
  services_.erase(found);
  warned_services_.erase(name);
}

void FileBackend::ArmSoon(const std::string& name) {
  if (!arming_.insert(name).second) return;
  loop_.After(kFolderPatience, [this, name] {
    arming_.erase(name);
    const auto found = services_.find(name);
    if (CheckFolder() && found != services_.end() && !found->second.Armed()) ArmService(name);
  });
}

void FileBackend::ArmService(const std::string& name) {
  const absl::Status status = services_.at(name).Arm(*inotify_);
  if (status.ok()) {
    warned_services_.erase(name);
    RepairEntriesOf(name);
    Report(name);
    return;
  }
  // An unreadable folder is no empty list: nothing is reported, and CheckRegularly() tries again.
  if (CheckFolder() && warned_services_.insert(name).second) {
    Logger()->error("event=registry_service_unreadable service={} why=\"{}\"", name,
                    std::string(status.message()));
  }
}

void FileBackend::Watch(const std::string& service) {
  subscribed_.insert(service);
  const bool known = services_.contains(service);
  ServiceOf(service);
  if (known) Report(service);
}

void FileBackend::Unwatch(const std::string& service) {
  subscribed_.erase(service);
  ForgetIfUnused(service);
}

void FileBackend::Report(const std::string& service) {
  if (!connected_ || !subscribed_.contains(service)) return;
  FileService& found = services_.at(service);
  // Gone by now, it would read as empty.
  if (!CheckFolder() || !found.Armed()) return;
  events_->OnReading(service, found.MakeReading());
}

// --- marks and directives

absl::Status FileBackend::Answer(absl::Status status) {
  if (status.ok() || CheckFolder()) return status;
  return absl::UnavailableError(status.message());
}

void FileBackend::SetGray(const std::string& service, const Endpoint& endpoint, bool gray,
                          Done done) {
  const std::string folder = layout_.Gray(service);
  const std::string path = absl::StrCat(folder, "/", EncodeName(endpoint.ToString()));
  if (!CheckFolder()) return done(absl::UnavailableError("the folder is gone"));
  absl::Status status;
  if (gray) {
    status = MakeFolders(folder, layout_.folder);
    if (status.ok()) status = ReplaceTextFile(path, "");
  } else if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    status = absl::ErrnoToStatus(errno, absl::StrCat("cannot remove '", path, "'"));
  }
  done(Answer(std::move(status)));
}

void FileBackend::ClearGray(const std::string& service, Done done) {
  if (!CheckFolder()) return done(absl::UnavailableError("the folder is gone"));
  const std::string folder = layout_.Gray(service);
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(folder);
  if (absl::IsNotFound(names.status())) return done(Answer(absl::OkStatus()));
  if (!names.ok()) return done(Answer(names.status()));
  absl::Status status;
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(folder, "/", name);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
      status.Update(absl::ErrnoToStatus(errno, absl::StrCat("cannot remove '", path, "'")));
    }
  }
  done(Answer(std::move(status)));
}

void FileBackend::SetDirective(const std::string& service, const std::string& key,
                               const std::string& value, Done done) {
  TryChange({service, key, value, Clock::Real().Now() + lock_patience_}, std::move(done));
}

void FileBackend::TryChange(DirectiveChange change, Done done) {
  if (!CheckFolder()) return done(absl::UnavailableError("the folder is gone"));
  const std::string path = layout_.Directives(change.service);
  absl::Status status = MakeFolders(path.substr(0, path.rfind('/')), layout_.folder);
  if (status.ok()) status = ChangeDirectivesFile(path, change.key, change.value);
  if (!absl::IsAborted(status) || Clock::Real().Now() >= change.give_up_at) {
    return done(Answer(std::move(status)));
  }
  loop_.After(kLockRetry, [this, change = std::move(change), done = std::move(done)]() mutable {
    TryChange(std::move(change), std::move(done));
  });
}

void FileBackend::Stop() {
  if (inotify_ != nullptr) loop_.UnwatchFd(inotify_->fd());
  inotify_.reset();
  connected_ = false;
  // Closed, they count as dead, and whoever sees them removes them.
  own_at_.clear();
  own_.clear();
  withdrawing_.clear();
}

}  // namespace marpc
