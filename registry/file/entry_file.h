// The file of one entry, and how anyone can tell whether the process that made it is still there.
//
// The owner keeps its file open for writing and locked. Open file description locks end with the
// last descriptor of the open file, however the process ends, so "locked" means "alive": no pid
// that may be reused, or mean something else in another container, is looked at. When the kernel
// closes the file of a dead process, inotify tells everyone who watches the folder
// (IN_CLOSE_WRITE), so that no one has to look again and again. (What a fork() without exec()
// inherits keeps the file open; the file is close-on-exec.)
//
// Whoever replaces or removes a name must hold the lock on the file that stands there at that time:
// so nobody removes a living entry that has just taken a dead one's place.
#ifndef MARPC_REGISTRY_FILE_ENTRY_FILE_H_
#define MARPC_REGISTRY_FILE_ENTRY_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace marpc {

// A file descriptor that closes itself. -1: none.
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// A version of a file's content.
struct FileVersion {
  ino_t inode = 0;
  int64_t changed_ns = 0;
  off_t size = 0;

  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};

// An entry of this process, alive as long as this object.
class OwnedEntryFile {
 public:
  OwnedEntryFile() = default;

  // Puts `text` at `path`, atomically, in the place of a dead entry or of `*this`'s own.
  // AlreadyExists: a living process holds the place (or someone is just removing a dead entry, so
  // try again). On failure what was stays.
  absl::Status Place(const std::string& path, absl::string_view text);
  // Whether the file still stands at `path`.
  bool InPlace(const std::string& path) const;
  // Removes the name, if it is still this file's, and gives the file up.
  absl::Status Remove(const std::string& path);

 private:
  UniqueFd fd_;
};

// What stands at a path.
struct EntryProbe {
  bool alive = false;
  FileVersion version;
  UniqueFd fd;  // to read it with
};

// NotFound where there is nothing (or no regular file).
absl::StatusOr<EntryProbe> ProbeEntry(const std::string& path);

// Removes the entry if its owner is (still) dead. OK also when it is gone, or alive after all.
absl::Status RemoveDeadEntry(const std::string& path);

}  // namespace marpc

#endif  // MARPC_REGISTRY_FILE_ENTRY_FILE_H_
