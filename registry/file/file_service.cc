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
  // The directives stand in the service's own folder; an operator may write them in place.
  watch = inotify.AddFolder(providers.substr(0, providers.rfind('/')), kNames | IN_CLOSE_WRITE);
  if (!watch.ok()) return watch.status();
  service_watch_ = *watch;
  if (access(providers.c_str(), R_OK | X_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read the folder '", providers, "'"));
  }
  providers_inode_ = InodeOf(providers);
  gray_inode_ = InodeOf(gray);
  absl::Status read = CheckAllEntries();
  read.Update(CheckGray());
  // What an operator says is not worth the list. It is looked at again (CheckDoubtful()).
  if (absl::Status said = CheckDirectives(); !said.ok()) {
    events_.OnBadEntry(layout_.Directives(name_), said);
  }
  if (!read.ok()) {
    providers_inode_ = gray_inode_ = 0;
    return read;
  }
  ForgetOldLeft();
  return absl::OkStatus();
}

void FileService::Disarm(Inotify& inotify) {
  for (int* watch : {&service_watch_, &providers_watch_, &gray_watch_}) {
    if (*watch >= 0) inotify.RemoveFolder(std::exchange(*watch, -1));
  }
  providers_inode_ = gray_inode_ = 0;
}

bool FileService::Armed() const {
  return providers_inode_ != 0 && InodeOf(layout_.Providers(name_)) == providers_inode_ &&
         InodeOf(layout_.Gray(name_)) == gray_inode_;
}

absl::Status FileService::CheckAllEntries() {
  absl::StatusOr<std::vector<std::string>> found = NamesIn(layout_.Providers(name_));
  if (!found.ok()) return found.status();
  std::set<std::string> names(found->begin(), found->end());
  for (const auto& [name, seen] : seen_) names.insert(name);
  for (const std::string& name : names) CheckEntry(name);
  return absl::OkStatus();
}

bool FileService::CheckDoubtful() {
  bool changed = gray_unreadable_ && CheckGray().ok();
  changed |= directives_unreadable_ && CheckDirectives().ok();
  std::vector<std::string> doubtful;
  for (const auto& [name, seen] : seen_) {
    if (seen.unreadable || !seen.missing_since.is_infinite()) doubtful.push_back(name);
  }
  for (const std::string& name : doubtful) changed |= CheckEntry(name);
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

// The entry may be as good as ever: this process may have no descriptor left to open it with.
void FileService::OnUnreadable(const std::string& file_name, const std::string& path,
                               const absl::Status& why) {
  if (!std::exchange(seen_[file_name].unreadable, true)) events_.OnBadEntry(path, why);
}

bool FileService::CheckEntry(const std::string& file_name) {
  if (absl::StartsWith(file_name, ".")) return false;
  const std::string path = absl::StrCat(layout_.Providers(name_), "/", file_name);
  absl::StatusOr<EntryProbe> probe = ProbeEntry(path);
  if (absl::IsNotFound(probe.status())) return OnMissing(file_name);
  if (!probe.ok()) {
    OnUnreadable(file_name, path, probe.status());
    return false;
  }
  const auto known = seen_.find(file_name);
  if (probe->alive && known != seen_.end() && known->second.version == probe->version &&
      known->second.missing_since.is_infinite()) {
    known->second.unreadable = false;
    return false;
  }
  const absl::StatusOr<std::string> text = ReadAll(probe->fd.get(), path, kMaxRecordBytes);
  // ResourceExhausted: it is too long.
  if (!text.ok() && !absl::IsResourceExhausted(text.status())) {
    OnUnreadable(file_name, path, text.status());
    return false;
  }
  absl::StatusOr<Instance> instance =
      text.ok() ? ParseEntry(name_, file_name, *text) : absl::StatusOr<Instance>(text.status());
  if (instance.ok() && !probe->alive) {
    RemoveDead(path, instance->owner);
    seen_.erase(file_name);
    return true;
  }
  Seen seen;
  seen.version = probe->version;
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

absl::Status FileService::CheckGray() {
  const std::string folder = layout_.Gray(name_);
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(folder);
  gray_unreadable_ = !names.ok();
  if (!names.ok()) return names.status();
  gray_marks_.clear();
  for (const std::string& name : *names) {
    absl::StatusOr<Endpoint> endpoint = DecodeEndpointName(name);
    if (endpoint.ok()) {
      gray_marks_.insert(*std::move(endpoint));
    } else if (bad_marks_.insert(name).second) {
      events_.OnBadEntry(absl::StrCat(folder, "/", name), endpoint.status());
    }
  }
  return absl::OkStatus();
}

absl::Status FileService::CheckDirectives() {
  const std::string path = layout_.Directives(name_);
  absl::StatusOr<std::string> text = ReadTextFile(path, kMaxDirectivesBytes);
  if (absl::IsNotFound(text.status())) text = "";
  // Too long, which no later look mends.
  const bool too_long = absl::IsResourceExhausted(text.status());
  directives_unreadable_ = !text.ok() && !too_long;
  if (directives_unreadable_) return text.status();
  const std::string version = too_long ? std::string(text.status().message()) : *text;
  if (std::exchange(directives_text_, version) == version) return absl::OkStatus();
  absl::StatusOr<Directives> read =
      too_long ? absl::StatusOr<Directives>(text.status()) : ParseDirectives(*text);
  if (read.ok()) {
    directives_ = *std::move(read);
  } else {
    events_.OnBadEntry(path, read.status());
  }
  return absl::OkStatus();
}

void FileService::ForgetOldLeft() {
  const std::string folder = layout_.Left(name_);
  const absl::Time limit = absl::Now() - kLeftMemory;
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(folder, "/", name);
    struct stat found;
    if (stat(path.c_str(), &found) == 0 && absl::TimeFromTimespec(found.st_mtim) < limit) {
      unlink(path.c_str());
    }
  }
}

Reading FileService::MakeReading() {
  Reading reading;
  reading.gray_marks = gray_marks_;
  reading.directives = directives_;
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(layout_.Left(name_));
  // Without the folder nobody has left. Where it cannot be read, those who had left before have.
  if (names.ok() || absl::IsNotFound(names.status())) left_.clear();
  if (names.ok()) {
    for (const std::string& name : *names) {
      absl::StatusOr<std::string> owner = DecodeName(name);
      if (owner.ok()) left_.insert(*std::move(owner));
    }
  }
  reading.left = left_;
  reading.left.insert(dead_.begin(), dead_.end());
  for (const auto& [name, seen] : seen_) {
    if (!seen.instance.has_value()) continue;
    if (!seen.missing_since.is_infinite() && reading.left.contains(seen.instance->owner)) continue;
    reading.instances.push_back(*seen.instance);
  }
  return reading;
}

}  // namespace marpc
