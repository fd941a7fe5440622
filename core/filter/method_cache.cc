#include "marpc/filter/method_cache.h"

#include <utility>

namespace marpc {

MethodCache::Lookup MethodCache::Find(const std::string& key, MonotonicTime now) {
  absl::MutexLock lock(&mutex_);
  if (auto bytes = answers_.Find(key, now)) return {std::move(bytes), nullptr, false};
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
      if (bytes != nullptr) answers_.Keep(key, bytes, now);
    }
  }
  pending->Settle(std::move(outcome), std::move(bytes));
}

void MethodCache::Clear() {
  absl::MutexLock lock(&mutex_);
  answers_.Clear();
  fetching_.clear();
}

size_t MethodCache::size() const {
  absl::MutexLock lock(&mutex_);
  return answers_.size();
}

size_t MethodCache::bytes() const {
  absl::MutexLock lock(&mutex_);
  return answers_.bytes();
}

}  // namespace marpc
