#include "marpc/retry/retry_state_cache.h"

#include "absl/strings/str_cat.h"
#include "marpc/base/clock.h"
#include "marpc/base/error.h"
#include "marpc/base/wake_up.h"

namespace marpc {

size_t RetryStateCache::size() const {
  PlainMutexLock lock(&mutex_);
  return histories_.size();
}

bool RetryStateCache::Contains(absl::string_view key) const {
  PlainMutexLock lock(&mutex_);
  return histories_.contains(key);
}

void RetryStateCache::Remove(absl::string_view key) {
  absl::StatusOr<Lease> lease = Acquire(key, Patience());
  if (lease.ok()) lease->Take();
}

absl::StatusOr<RetryStateCache::Lease> RetryStateCache::Acquire(absl::string_view key,
                                                                const Patience& patience) {
  struct Waker final : CancelSignal::Observer {
    explicit Waker(RetryStateCache& cache) : cache(cache) {}
    void OnCancel() override {
      PlainMutexLock lock(&cache.mutex_);
      cache.changed_.notify_all();
    }
    RetryStateCache& cache;
  };
  Waker waker(*this);
  // A signal that is cancelled already is seen before the first wait.
  const bool attached = patience.cancel != nullptr && patience.cancel->Attach(&waker);
  absl::StatusOr<Lease> lease = AwaitTurn(key, patience);
  if (attached) patience.cancel->Detach(&waker);
  return lease;
}

absl::StatusOr<RetryStateCache::Lease> RetryStateCache::AwaitTurn(absl::string_view key,
                                                                  const Patience& patience) {
  const MonotonicTime until = Clock::Real().Now() + patience.timeout;
  PlainMutexLock lock(&mutex_);
  for (auto it = running_.find(key); it != running_.end(); it = running_.find(key)) {
    if (it->second == std::this_thread::get_id()) {
      return FrameworkError(
          absl::StatusCode::kFailedPrecondition, reason::kRetryReentered,
          absl::StrCat("the operation of the key '", key, "' called itself with the same key"));
    }
    if (patience.cancel != nullptr && patience.cancel->cancelled()) {
      return FrameworkError(
          absl::StatusCode::kCancelled, reason::kCancelled,
          absl::StrCat("cancelled while another call of the key '", key, "' was under way"));
    }
    const absl::Duration left = until - Clock::Real().Now();
    if (left <= absl::ZeroDuration()) {
      return FrameworkError(absl::StatusCode::kDeadlineExceeded, reason::kDeadline,
                            absl::StrCat("the deadline passed while another call of the key '", key,
                                         "' was under way"));
    }
    WaitForChange(changed_, mutex_, left);
  }
  running_.emplace(key, std::this_thread::get_id());
  return Lease(this, std::string(key));
}

void RetryStateCache::GiveBack(const std::string& key) {
  PlainMutexLock lock(&mutex_);
  running_.erase(key);
  const auto it = histories_.find(key);
  if (it != histories_.end() && it->second == nullptr) histories_.erase(it);
  changed_.notify_all();
}

std::unique_ptr<RetryStateCache::History> RetryStateCache::Lease::Take() {
  PlainMutexLock lock(&cache_->mutex_);
  const auto it = cache_->histories_.find(key_);
  if (it == cache_->histories_.end()) return nullptr;
  return std::move(it->second);
}

absl::Status RetryStateCache::Lease::Put(std::unique_ptr<History> history) {
  PlainMutexLock lock(&cache_->mutex_);
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
