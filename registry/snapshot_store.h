// The last known list of every service, in a folder, for the next process's cold start without a
// registry.
#ifndef MARPC_REGISTRY_SNAPSHOT_STORE_H_
#define MARPC_REGISTRY_SNAPSHOT_STORE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "marpc/registry/registry.h"
#include "marpc/registry/service_view.h"

namespace marpc {

// One file a service, `<folder>/<environment>-<service>.json`, protobuf JSON of
// marpc.ServiceListRecord. Processes may share a folder: a file is replaced whole, and the last
// writer's list is as good as any. Not thread-safe.
class SnapshotStore {
 public:
  // An empty folder stores nothing. The folder is made at the first write.
  SnapshotStore(std::string folder, std::string environment);

  bool enabled() const { return !folder_.empty(); }

  // Replaces the service's file atomically. Not synced to the disk: after a power cut the file may
  // be empty, which reads as "no list", and a consumer must not wait for a disk.
  absl::Status Write(const ServiceSnapshot& snapshot) const;

  // None where there is no file. A file that cannot be read is none too, and is warned of.
  std::optional<StoredList> Read(absl::string_view service) const;

  std::string PathOf(absl::string_view service) const;

 private:
  const std::string folder_;
  const std::string environment_;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_SNAPSHOT_STORE_H_
