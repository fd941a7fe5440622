#include "marpc/registry/file/inotify.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace marpc {

absl::StatusOr<std::unique_ptr<Inotify>> Inotify::Open() {
  UniqueFd fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd) {
    return absl::ErrnoToStatus(
        errno, "cannot watch folders (the limit is sysctl fs.inotify.max_user_instances)");
  }
  return std::unique_ptr<Inotify>(new Inotify(std::move(fd)));
}

absl::StatusOr<int> Inotify::AddFolder(const std::string& path, uint32_t mask) {
  const int watch = inotify_add_watch(fd_.get(), path.c_str(), mask | IN_ONLYDIR);
  if (watch >= 0) return watch;
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot watch the folder '", path, "'"));
}

void Inotify::RemoveFolder(int watch) { inotify_rm_watch(fd_.get(), watch); }

std::vector<Inotify::Event> Inotify::Read() {
  std::vector<Event> events;
  alignas(inotify_event) char buffer[16384];
  while (true) {
    const ssize_t got = read(fd_.get(), buffer, sizeof(buffer));
    if (got <= 0) return events;
    for (const char* at = buffer; at < buffer + got;) {
      inotify_event event;
      std::memcpy(&event, at, sizeof(event));
      // The name is filled up with zeros.
      const char* const name = at + sizeof(event);
      events.push_back({event.wd, event.mask, std::string(name, strnlen(name, event.len))});
      at = name + event.len;
    }
  }
}

}  // namespace marpc
