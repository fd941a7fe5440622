#include "marpc/registry/text_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

absl::Status Failed(int error, absl::string_view what, absl::string_view path) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", what, " '", path, "'"));
}

}  // namespace

absl::Status MakeFolders(const std::string& path, absl::string_view base) {
  for (size_t slash = path.find('/', base.size() + 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat found;
      // A read-only file system says so even for a folder that is there.
      if (stat(part.c_str(), &found) != 0) return Failed(error, "make the folder", part);
    }
    if (slash == std::string::npos) break;
  }
  struct stat found;
  if (stat(path.c_str(), &found) != 0) return Failed(errno, "look at the folder", path);
  if (!S_ISDIR(found.st_mode)) return Failed(ENOTDIR, "use the folder", path);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), &closedir);
  if (dir == nullptr) return Failed(errno, "read the folder", folder);
  errno = 0;
  while (const dirent* entry = readdir(dir.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    errno = 0;
  }
  if (errno != 0) return Failed(errno, "read the folder", folder);
  return names;
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path, size_t limit) {
  std::string text;
  char buffer[16384];
  while (true) {
    const ssize_t got = pread(fd, buffer, sizeof(buffer), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(errno, "read", path);
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > limit) {
      return absl::ResourceExhaustedError(
          absl::StrCat("'", path, "' is longer than ", limit, " bytes"));
    }
  }
}

absl::Status WriteAll(int fd, const std::string& path, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Failed(errno, "write", path);
    text.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t limit) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Failed(errno, "open", path);
  absl::StatusOr<std::string> text = ReadAll(fd, path, limit);
  close(fd);
  return text;
}

absl::Status ReplaceTextFile(const std::string& path, absl::string_view text) {
  const std::string temporary = TemporaryBeside(path);
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return Failed(errno, "make", temporary);
  absl::Status status = WriteAll(fd, temporary, text);
  if (close(fd) != 0 && status.ok()) status = Failed(errno, "write", temporary);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = Failed(errno, "replace", path);
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

std::string TemporaryBeside(const std::string& path) {
  static std::atomic<uint64_t> count{0};
  const size_t slash = path.rfind('/') + 1;
  return absl::StrCat(path.substr(0, slash), ".", getpid(), "-", count.fetch_add(1), ".tmp");
}

}  // namespace marpc
