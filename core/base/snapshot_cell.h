// A value that is replaced whole and read by every call: many readers, rare writers.
//
//   SnapshotCell<ServiceState> cell(initial);
//   std::shared_ptr<const ServiceState> state = cell.Load();   // on the call path
//   cell.Store(next);                                          // on a change
//
// Each thread keeps a reference of its own, checked against the cell's version, so that Load()
// touches no memory that another thread writes: its shared_ptr counts in a control block that
// belongs to the thread. The price: a thread that has read a cell keeps the last value that it saw
// until it reads that cell again, reads any cell after this one is gone, or ends. Values must
// therefore not hold what has to be given back at once (sockets).
#ifndef MARPC_BASE_SNAPSHOT_CELL_H_
#define MARPC_BASE_SNAPSHOT_CELL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace marpc {

// The part that does not depend on the value's type.
class UntypedSnapshotCell {
 public:
  explicit UntypedSnapshotCell(std::shared_ptr<const void> initial);
  ~UntypedSnapshotCell();
  UntypedSnapshotCell(const UntypedSnapshotCell&) = delete;
  UntypedSnapshotCell& operator=(const UntypedSnapshotCell&) = delete;

  std::shared_ptr<const void> Load() const;
  void Store(std::shared_ptr<const void> next);

 private:
  std::shared_ptr<const void> Refresh() const;

  const size_t slot_;
  // Never the same in two cells, nor twice in one.
  std::atomic<uint64_t> version_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<const void> current_ ABSL_GUARDED_BY(mutex_);
};

// Thread-safe. T may be incomplete.
template <typename T>
class SnapshotCell {
 public:
  explicit SnapshotCell(std::shared_ptr<const T> initial) : cell_(std::move(initial)) {}
  // The value last stored.
  std::shared_ptr<const T> Load() const { return std::static_pointer_cast<const T>(cell_.Load()); }
  void Store(std::shared_ptr<const T> next) { cell_.Store(std::move(next)); }

 private:
  UntypedSnapshotCell cell_;
};

}  // namespace marpc

#endif  // MARPC_BASE_SNAPSHOT_CELL_H_
