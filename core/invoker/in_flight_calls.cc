#include "marpc/invoker/in_flight_calls.h"

#include <atomic>
#include <chrono>

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
  PlainMutexLock lock(&shard.mutex);
  if (shard.closed) return false;
  entry.next = shard.first;
  if (shard.first != nullptr) shard.first->previous = &entry;
  shard.first = &entry;
  return true;
}

void InFlightCalls::BeginToTell(Entry& entry) {
  PlainMutexLock lock(&shards_[entry.shard].mutex);
  entry.told_by = std::this_thread::get_id();
}

void InFlightCalls::Leave(Entry& entry) {
  Shard& shard = shards_[entry.shard];
  PlainMutexLock lock(&shard.mutex);
  if (entry.previous != nullptr) {
    entry.previous->next = entry.next;
  } else {
    shard.first = entry.next;
  }
  if (entry.next != nullptr) entry.next->previous = entry.previous;
  if (shard.closed) shard.left.notify_all();
}

bool InFlightCalls::Shard::AnyOfOthers() const {
  for (const Entry* entry = first; entry != nullptr; entry = entry->next) {
    if (entry->told_by != std::this_thread::get_id()) return true;
  }
  return false;
}

bool InFlightCalls::Close(absl::Duration timeout) {
  for (Shard& shard : shards_) {
    PlainMutexLock lock(&shard.mutex);
    shard.closed = true;
    for (Entry* entry = shard.first; entry != nullptr; entry = entry->next) entry->signal->Cancel();
  }
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout);
  bool all_left = true;
  for (Shard& shard : shards_) {
    PlainMutexLock lock(&shard.mutex);
    const auto empty = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !shard.AnyOfOthers(); };
    all_left &= shard.left.wait_until(shard.mutex, deadline, empty);
  }
  return all_left;
}

}  // namespace marpc
