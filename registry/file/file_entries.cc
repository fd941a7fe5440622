// What providers enter: the part of FileBackend about leases.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "marpc/observe/log.h"
#include "marpc/registry/file/file_backend.h"
#include "marpc/registry/record.h"
#include "marpc/registry/text_file.h"

namespace marpc {
namespace {

// For an entry whose place a living process holds.
constexpr absl::Duration kFirstPlaceRetry = absl::Milliseconds(20);
constexpr absl::Duration kLastPlaceRetry = absl::Seconds(1);

}  // namespace

std::string FileBackend::PathOf(const Entry& entry) const {
  return absl::StrCat(layout_.Providers(entry.service), "/", EncodeName(entry.endpoint.ToString()));
}

void FileBackend::Enter(std::shared_ptr<Entry> entry) {
  Own& own = own_[entry];
  own_at_.emplace(PathOf(*entry), entry);
  own.retry_delay = kFirstPlaceRetry;
  if (connected_) Place(entry, own);
  ServiceOf(entry->service);
}

void FileBackend::Change(const std::shared_ptr<Entry>& entry) {
  const auto found = own_.find(entry);
  if (found != own_.end() && connected_) Place(entry, found->second);
}

void FileBackend::Place(const std::shared_ptr<Entry>& entry, Own& own) {
  loop_.CancelTimer(own.retry);
  own.repair_due = false;
  absl::Status status = MakeFolders(layout_.Providers(entry->service), layout_.folder);
  // An owner named by the caller may have left before.
  unlink(
      absl::StrCat(layout_.Left(entry->service), "/", EncodeName(entry->instance.owner)).c_str());
  if (status.ok()) status = own.file.Place(PathOf(*entry), entry->Json());
  if (!status.ok()) return OnNotPlaced(entry, own, status);
  entry->registered.store(true);
  own.retry_delay = kFirstPlaceRetry;
  own.warned = false;
}

void FileBackend::OnNotPlaced(const std::shared_ptr<Entry>& entry, Own& own,
                              const absl::Status& why) {
  entry->registered.store(false);
  if (!CheckFolder()) return;
  if (own.retry_delay >= kLastPlaceRetry && !std::exchange(own.warned, true)) {
    Logger()->error("event=registry_entry_refused service={} endpoint={} why=\"{}\"",
                    entry->service, entry->endpoint.ToString(), std::string(why.message()));
  }
  own.retry = loop_.After(own.retry_delay, [this, entry] { Change(entry); });
  own.retry_delay = std::min(own.retry_delay * 2, kLastPlaceRetry);
}

FileBackend::OwnPaths::const_iterator FileBackend::EntriesOf(const std::string& service) const {
  const std::string folder = absl::StrCat(layout_.Providers(service), "/");
  const auto first = own_at_.lower_bound(folder);
  return first != own_at_.end() && absl::StartsWith(first->first, folder) ? first : own_at_.end();
}

void FileBackend::RepairEntriesOf(const std::string& service) {
  for (auto at = EntriesOf(service); at != own_at_.end(); ++at) {
    if (at->second->service != service) break;
    RepairIfGone(at->first, at->second);
  }
}

void FileBackend::RepairEntriesAt(const std::string& service,
                                  const std::set<std::string>& file_names) {
  const std::string folder = layout_.Providers(service);
  for (const std::string& name : file_names) {
    const auto at = own_at_.find(absl::StrCat(folder, "/", name));
    if (at != own_at_.end()) RepairIfGone(at->first, at->second);
  }
}

void FileBackend::RepairIfGone(const std::string& path, const std::shared_ptr<Entry>& entry) {
  Own& own = own_.at(entry);
  if (!entry->registered.load() || own.repair_due || own.file.InPlace(path)) return;
  own.repair_due = true;
  own.retry = loop_.After(kFolderPatience, [this, entry] { Repair(entry); });
}

void FileBackend::Repair(const std::shared_ptr<Entry>& entry) {
  const auto found = own_.find(entry);
  if (found == own_.end()) return;
  found->second.repair_due = false;
  const std::string path = PathOf(*entry);
  // Gone with the whole folder: that is an outage, not a loss of this entry.
  if (!CheckFolder() || found->second.file.InPlace(path)) return;
  events_->OnRepaired(path, "its file was gone or another one stood in its place");
  Place(entry, found->second);
}

void FileBackend::Withdraw(std::shared_ptr<Entry> entry, Done done) {
  entry->registered.store(false);
  auto found = own_.extract(entry);
  if (found.empty()) return done(absl::OkStatus());
  own_at_.erase(PathOf(*entry));
  loop_.CancelTimer(found.mapped().retry);
  const std::string service = entry->service;
  FinishWithdrawal({std::move(entry), std::move(found.mapped()), std::move(done)});
  ForgetIfUnused(service);
}

void FileBackend::FinishWithdrawal(Withdrawal withdrawal) {
  if (!CheckFolder()) {
    withdrawing_.push_back(std::move(withdrawal));
    return;
  }
  const Entry& entry = *withdrawal.entry;
  // Before the file goes: who sees it gone must find out why.
  const absl::Status left = WriteLeft(layout_, entry.service, entry.instance.owner);
  const absl::Status removed = withdrawal.own.file.Remove(PathOf(entry));
  withdrawal.done(left.ok() ? removed : left);
}

}  // namespace marpc
