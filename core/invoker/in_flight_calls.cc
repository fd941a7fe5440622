#include "marpc/invoker/in_flight_calls.h"

#include <atomic>

#include "absl/time/clock.h"

namespace marpc {
namespace {

int ShardOfThisThread(int shards) {
  static std::atomic<int> threads{0};
  thread_local const int mine = threads.fetch_add(1, std::memory_order_relaxed);
  return mine % shards;
}

}  // namespace

bool InFlightCalls::Enter(Entry& entry) {
  entry.shard = ShardOfThisThread(kShards);
  Shard& shard = shards_[entry.shard];
  absl::MutexLock lock(&shard.mutex);
  if (shard.closed) return false;
  entry.next = shard.first;
  if (shard.first != nullptr) shard.first->previous = &entry;
  shard.first = &entry;
  return true;
}

void InFlightCalls::Leave(Entry& entry) {
  Shard& shard = shards_[entry.shard];
  absl::MutexLock lock(&shard.mutex);
  if (entry.previous != nullptr) {
    entry.previous->next = entry.next;
  } else {
    shard.first = entry.next;
  }
  if (entry.next != nullptr) entry.next->previous = entry.previous;
}

bool InFlightCalls::Close(absl::Duration timeout) {
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mutex);
    shard.closed = true;
    for (Entry* entry = shard.first; entry != nullptr; entry = entry->next) entry->signal->Cancel();
  }
  const absl::Time deadline = absl::Now() + timeout;
  bool all_left = true;
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mutex);
    const auto empty = [](Shard* s) ABSL_NO_THREAD_SAFETY_ANALYSIS { return s->first == nullptr; };
    all_left &= shard.mutex.AwaitWithDeadline(absl::Condition(+empty, &shard), deadline);
  }
  return all_left;
}

}  // namespace marpc
