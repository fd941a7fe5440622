// The kernel's news of changes in folders.
#ifndef MARPC_REGISTRY_FILE_INOTIFY_H_
#define MARPC_REGISTRY_FILE_INOTIFY_H_

#include <sys/inotify.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "marpc/registry/file/entry_file.h"

namespace marpc {

// Not thread-safe.
class Inotify {
 public:
  struct Event {
    int watch;      // as AddFolder() answered; -1 when events were lost
    uint32_t mask;  // IN_...
    std::string name;
  };

  static absl::StatusOr<std::unique_ptr<Inotify>> Open();

  int fd() const { return fd_.get(); }
  absl::StatusOr<int> AddFolder(const std::string& path, uint32_t mask);
  // `watch` is as AddFolder() answered; one that ended with its folder is no harm.
  void RemoveFolder(int watch);
  // All that is waiting; never blocks.
  std::vector<Event> Read();

 private:
  explicit Inotify(UniqueFd fd) : fd_(std::move(fd)) {}
  const UniqueFd fd_;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_FILE_INOTIFY_H_
