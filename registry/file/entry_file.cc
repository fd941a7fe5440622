#include "marpc/registry/file/entry_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "marpc/registry/text_file.h"

namespace marpc {
namespace {

// How often two processes may get in each other's way over one name before it is left for later.
constexpr int kRaces = 10;

absl::Status Failed(int error, absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", what, " '", path, "'"));
}

struct flock WholeFile(int16_t type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool TryLock(int fd) {
  struct flock lock = WholeFile(F_WRLCK);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool IsAt(int fd, const std::string& path) {
  struct stat open_file, named;
  return fd >= 0 && fstat(fd, &open_file) == 0 && lstat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

// Locks the file that stands at `path`. AlreadyExists: someone else has it locked. NotFound:
// nothing is there, or something else by now.
absl::StatusOr<UniqueFd> LockAt(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return Failed(errno, "open", path);
  if (!TryLock(fd.get())) {
    return absl::AlreadyExistsError(absl::StrCat("'", path, "' is held by a living process"));
  }
  if (!IsAt(fd.get(), path)) return absl::NotFoundError(path);
  return fd;
}

absl::Status RenameInto(const std::string& temporary, const std::string& path) {
  for (int i = 0; i < kRaces; ++i) {
    if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
      return absl::OkStatus();
    }
    if (errno != EEXIST) return Failed(errno, "make", path);
    absl::StatusOr<UniqueFd> dead = LockAt(path);
    if (absl::IsNotFound(dead.status())) continue;
    if (!dead.ok()) return dead.status();
    if (rename(temporary.c_str(), path.c_str()) != 0) return Failed(errno, "replace", path);
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(absl::StrCat("'", path, "' is changing hands"));
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

absl::Status OwnedEntryFile::Place(const std::string& path, absl::string_view text) {
  const std::string temporary = TemporaryBeside(path);
  UniqueFd fd(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) return Failed(errno, "make", temporary);
  absl::Status status = TryLock(fd.get()) ? absl::OkStatus() : Failed(errno, "lock", temporary);
  if (status.ok()) status = WriteAll(fd.get(), temporary, text);
  if (status.ok()) {
    if (InPlace(path)) {
      // Ours, and locked by us: nobody else may take the name.
      if (rename(temporary.c_str(), path.c_str()) != 0) status = Failed(errno, "replace", path);
    } else {
      status = RenameInto(temporary, path);
    }
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  fd_ = std::move(fd);
  return absl::OkStatus();
}

bool OwnedEntryFile::InPlace(const std::string& path) const { return IsAt(fd_.get(), path); }

absl::Status OwnedEntryFile::Remove(const std::string& path) {
  const bool failed = InPlace(path) && unlink(path.c_str()) != 0 && errno != ENOENT;
  const int error = errno;
  fd_ = UniqueFd();
  return failed ? Failed(error, "remove", path) : absl::OkStatus();
}

absl::StatusOr<EntryProbe> ProbeEntry(const std::string& path) {
  EntryProbe probe;
  probe.fd = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!probe.fd) return Failed(errno, "open", path);
  struct stat found;
  if (fstat(probe.fd.get(), &found) != 0) return Failed(errno, "look at", path);
  if (!S_ISREG(found.st_mode)) return absl::NotFoundError(absl::StrCat("'", path, "' is no file"));
  probe.version.inode = found.st_ino;
  probe.version.changed_ns = int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec;
  probe.version.size = found.st_size;
  struct flock lock = WholeFile(F_WRLCK);
  if (fcntl(probe.fd.get(), F_OFD_GETLK, &lock) != 0) return Failed(errno, "ask for", path);
  probe.alive = lock.l_type != F_UNLCK;
  return probe;
}

absl::Status RemoveDeadEntry(const std::string& path) {
  absl::StatusOr<UniqueFd> fd = LockAt(path);
  if (absl::IsNotFound(fd.status()) || absl::IsAlreadyExists(fd.status())) return absl::OkStatus();
  if (!fd.ok()) return fd.status();
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return Failed(errno, "remove", path);
  return absl::OkStatus();
}

}  // namespace marpc
