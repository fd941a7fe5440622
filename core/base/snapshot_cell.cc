#include "marpc/base/snapshot_cell.h"

#include <vector>

namespace marpc {
namespace {

// Hands out slots of the threads' caches. Never destroyed: a cell may outlive every static object.
class Slots {
 public:
  static Slots& Instance() {
    static Slots& slots = *new Slots;
    return slots;
  }
  size_t Take() {
    absl::MutexLock lock(&mutex_);
    if (free_.empty()) {
      live_.push_back(true);
      return live_.size() - 1;
    }
    const size_t slot = free_.back();
    free_.pop_back();
    live_[slot] = true;
    return slot;
  }
  void GiveBack(size_t slot) {
    absl::MutexLock lock(&mutex_);
    live_[slot] = false;
    free_.push_back(slot);
    retirements_.fetch_add(1, std::memory_order_release);
  }
  uint64_t retirements() const { return retirements_.load(std::memory_order_acquire); }
  std::vector<bool> live() {
    absl::MutexLock lock(&mutex_);
    return live_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<bool> live_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> free_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> retirements_{0};
};

uint64_t NextVersion() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

struct CachedSnapshot {
  uint64_t version = 0;
  std::shared_ptr<const void> value;
};

struct ThreadCache {
  std::vector<CachedSnapshot> by_slot;
  uint64_t retirements_seen = 0;

  // Lets go of what belongs to cells that are gone.
  void Sweep() {
    const uint64_t retirements = Slots::Instance().retirements();
    if (retirements == retirements_seen) return;
    retirements_seen = retirements;
    const std::vector<bool> live = Slots::Instance().live();
    // Let go of after the loop, since their destructors may read cells, and so change `by_slot`.
    std::vector<CachedSnapshot> dropped;
    for (size_t i = 0; i < by_slot.size(); ++i) {
      if (!live[i] && by_slot[i].value != nullptr) dropped.push_back(std::exchange(by_slot[i], {}));
    }
  }
};

// Null before the thread's first use and after its cache's destruction: a static object's
// destructor may still read.
thread_local ThreadCache* cache = nullptr;
thread_local bool cache_destroyed = false;
struct ThreadCacheOwner {
  ThreadCache value;
  ThreadCacheOwner() { cache = &value; }
  ~ThreadCacheOwner() {
    cache = nullptr;
    cache_destroyed = true;
  }
};

ThreadCache* CacheOfThisThread() {
  if (cache == nullptr && !cache_destroyed) {
    thread_local ThreadCacheOwner owner;
    cache = &owner.value;
  }
  return cache;
}

}  // namespace

UntypedSnapshotCell::UntypedSnapshotCell(std::shared_ptr<const void> initial)
    : slot_(Slots::Instance().Take()), version_(NextVersion()), current_(std::move(initial)) {}

UntypedSnapshotCell::~UntypedSnapshotCell() { Slots::Instance().GiveBack(slot_); }

void UntypedSnapshotCell::Store(std::shared_ptr<const void> next) {
  absl::MutexLock lock(&mutex_);
  current_.swap(next);
  version_.store(NextVersion(), std::memory_order_release);
}

std::shared_ptr<const void> UntypedSnapshotCell::Load() const {
  ThreadCache* mine = cache;
  if (mine != nullptr && slot_ < mine->by_slot.size()) {
    const CachedSnapshot& cached = mine->by_slot[slot_];
    if (cached.version == version_.load(std::memory_order_acquire)) return cached.value;
  }
  return Refresh();
}

std::shared_ptr<const void> UntypedSnapshotCell::Refresh() const {
  std::shared_ptr<const void> current;
  uint64_t version;
  {
    absl::MutexLock lock(&mutex_);
    current = current_;
    version = version_.load(std::memory_order_relaxed);
  }
  ThreadCache* mine = CacheOfThisThread();
  if (mine == nullptr) return current;
  mine->Sweep();
  if (slot_ >= mine->by_slot.size()) mine->by_slot.resize(slot_ + 1);
  // The thread's own control block: copies of it count without touching the one that all threads
  // share.
  auto box = std::make_shared<std::shared_ptr<const void>>(std::move(current));
  std::shared_ptr<const void> own(box, box->get());
  std::swap(mine->by_slot[slot_].value, own);
  mine->by_slot[slot_].version = version;
  // `own` now holds the value before, whose destructor may read this very cache: copy first, let go
  // last.
  return mine->by_slot[slot_].value;
}

}  // namespace marpc
