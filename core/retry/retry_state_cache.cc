#include "marpc/retry/retry_state_cache.h"

#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"

namespace marpc {

size_t RetryStateCache::size() const {
  absl::MutexLock lock(&mutex_);
  return histories_.size();
}

bool RetryStateCache::Contains(absl::string_view key) const {
  absl::MutexLock lock(&mutex_);
  return histories_.contains(key);
}

void RetryStateCache::Remove(absl::string_view key) {
  absl::StatusOr<Lease> lease = Acquire(key);
  if (lease.ok()) lease->Take();
}

absl::StatusOr<RetryStateCache::Lease> RetryStateCache::Acquire(absl::string_view key) {
  absl::MutexLock lock(&mutex_);
  const auto it = running_.find(key);
  if (it != running_.end() && it->second == std::this_thread::get_id()) {
    return FrameworkError(
        absl::StatusCode::kFailedPrecondition, reason::kRetryReentered,
        absl::StrCat("the operation of the key '", key, "' called itself with the same key"));
  }
  const auto idle = [this, key]()
                        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !running_.contains(key); };
  mutex_.Await(absl::Condition(&idle));
  running_.emplace(key, std::this_thread::get_id());
  return Lease(this, std::string(key));
}

void RetryStateCache::GiveBack(const std::string& key) {
  absl::MutexLock lock(&mutex_);
  running_.erase(key);
  const auto it = histories_.find(key);
  if (it != histories_.end() && it->second == nullptr) histories_.erase(it);
}

std::unique_ptr<RetryStateCache::History> RetryStateCache::Lease::Take() {
  absl::MutexLock lock(&cache_->mutex_);
  const auto it = cache_->histories_.find(key_);
  if (it == cache_->histories_.end()) return nullptr;
  return std::move(it->second);
}

absl::Status RetryStateCache::Lease::Put(std::unique_ptr<History> history) {
  absl::MutexLock lock(&cache_->mutex_);
  const auto it = cache_->histories_.find(key_);
  if (it != cache_->histories_.end()) {
    it->second = std::move(history);
    return absl::OkStatus();
  }
  if (cache_->histories_.size() >= cache_->capacity_) {
    return FrameworkError(
        absl::StatusCode::kResourceExhausted, reason::kRetryStateFull,
        absl::StrCat("no room for the retry state of the key '", key_, "': ", cache_->capacity_,
                     " keys have failed and were neither tried again nor recovered"));
  }
  cache_->histories_.emplace(key_, std::move(history));
  return absl::OkStatus();
}

}  // namespace marpc
