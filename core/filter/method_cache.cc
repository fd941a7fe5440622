#include "marpc/filter/method_cache.h"

#include <utility>

namespace marpc {

MethodCache::Lookup MethodCache::Find(const std::string& key, MonotonicTime now) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    const Entries::iterator entry = found->second;
    if (now - entry->stored_at < settings_.ttl) {
      entries_.splice(entries_.begin(), entries_, entry);
      return {entry->bytes, nullptr, false};
    }
    Drop(entry);
  }
  std::shared_ptr<PendingAnswer>& pending = fetching_[key];
  const bool first = pending == nullptr;
  if (first) pending = std::make_shared<PendingAnswer>();
  return {nullptr, pending, first};
}

void MethodCache::Finish(const std::string& key, const std::shared_ptr<PendingAnswer>& pending,
                         std::shared_ptr<const std::string> bytes, absl::Status outcome,
                         MonotonicTime now) {
  {
    absl::MutexLock lock(&mutex_);
    const auto it = fetching_.find(key);
    // After Clear() the fetch is no longer ours: its answer may be of before what made the user
    // clear.
    if (it != fetching_.end() && it->second == pending) {
      fetching_.erase(it);
      if (bytes != nullptr) Keep(key, bytes, now);
    }
  }
  pending->Settle(std::move(outcome), std::move(bytes));
}

void MethodCache::Keep(const std::string& key, std::shared_ptr<const std::string> bytes,
                       MonotonicTime now) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) Drop(found->second);
  Entry entry{key, std::move(bytes), now};
  if (entry.size() > static_cast<size_t>(settings_.max_bytes) || settings_.max_entries < 1) return;
  bytes_ += entry.size();
  entries_.push_front(std::move(entry));
  by_key_.emplace(entries_.front().key, entries_.begin());
  while (bytes_ > static_cast<size_t>(settings_.max_bytes) ||
         entries_.size() > static_cast<size_t>(settings_.max_entries)) {
    Drop(std::prev(entries_.end()));
  }
}

void MethodCache::Drop(Entries::iterator entry) {
  bytes_ -= entry->size();
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

void MethodCache::Clear() {
  absl::MutexLock lock(&mutex_);
  by_key_.clear();
  entries_.clear();
  fetching_.clear();
  bytes_ = 0;
}

size_t MethodCache::size() const {
  absl::MutexLock lock(&mutex_);
  return entries_.size();
}

size_t MethodCache::bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace marpc
