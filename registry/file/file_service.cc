#include "marpc/registry/file/file_service.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "marpc/registry/record.h"
#include "marpc/registry/text_file.h"

namespace marpc {
namespace {

// An entry that vanishes though its owner neither left nor died was removed by someone else, and
// its owner will enter it again. It is believed to be gone after so long.
constexpr absl::Duration kMissingMemory = absl::Seconds(2);

constexpr uint32_t kFolderGone = IN_DELETE_SELF | IN_MOVE_SELF;

ino_t InodeOf(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

}  // namespace

absl::Status WriteLeft(const FileLayout& layout, const std::string& service,
                       const std::string& owner) {
  const std::string folder = layout.Left(service);
  if (absl::Status made = MakeFolders(folder, layout.folder); !made.ok()) return made;
  return ReplaceTextFile(absl::StrCat(folder, "/", EncodeName(owner)), "");
}

FileService::FileService(const FileLayout& layout, std::string name, Backend::Events& events)
    : layout_(layout), name_(std::move(name)), events_(events) {}

absl::Status FileService::Arm(Inotify& inotify) {
  providers_inode_ = gray_inode_ = 0;
  const std::string providers = layout_.Providers(name_);
  const std::string gray = layout_.Gray(name_);
  if (absl::Status made = MakeFolders(providers, layout_.folder); !made.ok()) return made;
  if (absl::Status made = MakeFolders(gray, layout_.folder); !made.ok()) return made;
  constexpr uint32_t kNames = IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | kFolderGone;
  // A close after writing is how the death of an owner is told (entry_file.h). Entries come by
  // being renamed: what is created in place is being written, and is looked at when that ends.
  absl::StatusOr<int> watch = inotify.AddFolder(providers, kNames | IN_CLOSE_WRITE);
  if (!watch.ok()) return watch.status();
  providers_watch_ = *watch;
  watch = inotify.AddFolder(gray, kNames | IN_CREATE);
  if (!watch.ok()) return watch.status();
  gray_watch_ = *watch;
  if (access(providers.c_str(), R_OK | X_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read the folder '", providers, "'"));
  }
  providers_inode_ = InodeOf(providers);
  gray_inode_ = InodeOf(gray);
  CheckAllEntries();
  CheckGray();
  ForgetOldLeft();
  return absl::OkStatus();
}

void FileService::Disarm(Inotify& inotify) {
  for (int* watch : {&providers_watch_, &gray_watch_}) {
    if (*watch >= 0) inotify.RemoveFolder(std::exchange(*watch, -1));
  }
  providers_inode_ = gray_inode_ = 0;
}

bool FileService::Armed() const {
  return providers_inode_ != 0 && InodeOf(layout_.Providers(name_)) == providers_inode_ &&
         InodeOf(layout_.Gray(name_)) == gray_inode_;
}

void FileService::CheckAllEntries() {
  std::set<std::string> names;
  for (const auto& [name, seen] : seen_) names.insert(name);
  for (std::string& name : NamesIn(layout_.Providers(name_))) names.insert(std::move(name));
  for (const std::string& name : names) CheckEntry(name);
}

bool FileService::CheckMissing() {
  bool changed = false;
  std::vector<std::string> missing;
  for (const auto& [name, seen] : seen_) {
    if (!seen.missing_since.is_infinite()) missing.push_back(name);
  }
  for (const std::string& name : missing) changed |= CheckEntry(name);
  return changed;
}

bool FileService::OnMissing(const std::string& file_name) {
  const auto known = seen_.find(file_name);
  if (known == seen_.end()) return false;
  const MonotonicTime now = Clock::Real().Now();
  Seen& seen = known->second;
  if (seen.missing_since.is_infinite()) seen.missing_since = now;
  // MakeReading() leaves it out at once where its owner has left.
  if (!seen.instance.has_value() || now - seen.missing_since >= kMissingMemory) seen_.erase(known);
  return true;
}

bool FileService::CheckEntry(const std::string& file_name) {
  if (absl::StartsWith(file_name, ".")) return false;
  const std::string path = absl::StrCat(layout_.Providers(name_), "/", file_name);
  absl::StatusOr<EntryProbe> probe = ProbeEntry(path);
  if (absl::IsNotFound(probe.status())) return OnMissing(file_name);
  const auto known = seen_.find(file_name);
  if (probe.ok() && probe->alive && known != seen_.end() &&
      known->second.version == probe->version && known->second.missing_since.is_infinite()) {
    return false;
  }
  const absl::StatusOr<std::string> text = probe.ok()
                                               ? ReadAll(probe->fd.get(), path, kMaxRecordBytes)
                                               : absl::StatusOr<std::string>(probe.status());
  absl::StatusOr<Instance> instance =
      text.ok() ? ParseEntry(name_, file_name, *text) : absl::StatusOr<Instance>(text.status());
  if (instance.ok() && !probe->alive) {
    RemoveDead(path, instance->owner);
    seen_.erase(file_name);
    return true;
  }
  Seen seen;
  if (probe.ok()) seen.version = probe->version;
  if (instance.ok()) {
    seen.instance = *std::move(instance);
  } else if (known == seen_.end() || known->second.instance.has_value() ||
             known->second.version != seen.version) {
    events_.OnBadEntry(path, instance.status());
  }
  seen_.insert_or_assign(file_name, std::move(seen));
  return true;
}

void FileService::RemoveDead(const std::string& path, const std::string& owner) {
  // Before the file goes: who sees it gone must find out why.
  absl::Status status = WriteLeft(layout_, name_, owner);
  if (status.ok()) status = RemoveDeadEntry(path);
  // Another user's files may not be ours to remove. That this one is dead holds all the same.
  if (!status.ok()) dead_.insert(owner);
}

void FileService::CheckGray() {
  gray_marks_.clear();
  const std::string folder = layout_.Gray(name_);
  for (const std::string& name : NamesIn(folder)) {
    absl::StatusOr<Endpoint> endpoint = DecodeEndpointName(name);
    if (endpoint.ok()) {
      gray_marks_.insert(*std::move(endpoint));
    } else if (bad_marks_.insert(name).second) {
      events_.OnBadEntry(absl::StrCat(folder, "/", name), endpoint.status());
    }
  }
}

void FileService::ForgetOldLeft() {
  const std::string folder = layout_.Left(name_);
  const absl::Time limit = absl::Now() - kLeftMemory;
  for (const std::string& name : NamesIn(folder)) {
    const std::string path = absl::StrCat(folder, "/", name);
    struct stat found;
    if (stat(path.c_str(), &found) == 0 && absl::TimeFromTimespec(found.st_mtim) < limit) {
      unlink(path.c_str());
    }
  }
}

Reading FileService::MakeReading() const {
  Reading reading;
  reading.gray_marks = gray_marks_;
  reading.left = dead_;
  for (const std::string& name : NamesIn(layout_.Left(name_))) {
    absl::StatusOr<std::string> owner = DecodeName(name);
    if (owner.ok()) reading.left.insert(*std::move(owner));
  }
  for (const auto& [name, seen] : seen_) {
    if (!seen.instance.has_value()) continue;
    if (!seen.missing_since.is_infinite() && reading.left.contains(seen.instance->owner)) continue;
    reading.instances.push_back(*seen.instance);
  }
  return reading;
}

}  // namespace marpc
