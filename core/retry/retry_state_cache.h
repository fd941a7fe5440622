// The histories of retries that are spread over calls, by key (StatefulRetry). Bounded by the
// number of keys.
#ifndef MARPC_RETRY_RETRY_STATE_CACHE_H_
#define MARPC_RETRY_RETRY_STATE_CACHE_H_

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/base/cancel.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/base/random.h"
#include "marpc/retry/retry_session.h"

namespace marpc {

// Thread-safe. A history stays until its key succeeds, is recovered or is removed: a caller that
// never comes back with its key leaves it here.
class RetryStateCache {
 public:
  // Holds at most so many keys; at least 1.
  explicit RetryStateCache(size_t capacity) : capacity_(capacity) {}

  size_t capacity() const { return capacity_; }
  size_t size() const;
  bool Contains(absl::string_view key) const;
  // Forgets the key's history. Waits for a call of this key to end; no effect from inside one.
  void Remove(absl::string_view key);

 private:
  template <typename>
  friend class StatefulRetry;

  struct History {
    History(std::shared_ptr<const RetryStack> stack, RandomSource* random, uint64_t seed)
        : own_random(seed),
          random(random != nullptr ? random : &own_random),
          session(std::move(stack), {.announce_retries = true}, *this->random) {}
    SeededRandom own_random;
    RandomSource* const random;
    RetrySession session;
    RetryStep next;  // kDone: exhausted
  };

  // One call's hold on a key: no other call of the same key runs meanwhile.
  class Lease {
   public:
    Lease() = default;
    Lease(RetryStateCache* cache, std::string key) : cache_(cache), key_(std::move(key)) {}
    Lease(Lease&& other) noexcept
        : cache_(std::exchange(other.cache_, nullptr)), key_(std::move(other.key_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (cache_ != nullptr) cache_->GiveBack(key_);
    }
    // Null where there is none. From now on the caller's, until it puts it back; its place is kept
    // for as long as the lease.
    std::unique_ptr<History> Take();
    // ResourceExhausted, reason RETRY_STATE_FULL, when the key is new and there is no room for it.
    absl::Status Put(std::unique_ptr<History> history);

   private:
    RetryStateCache* cache_ = nullptr;
    std::string key_;
  };

  struct Patience {
    absl::Duration timeout = absl::InfiniteDuration();
    CancelSignal* cancel = nullptr;  // null: cannot be cancelled
  };
  // Waits for a call of the same key to end. FailedPrecondition, reason RETRY_REENTERED, when that
  // is the calling thread's own; DeadlineExceeded and Cancelled when the patience is at its end.
  absl::StatusOr<Lease> Acquire(absl::string_view key, const Patience& patience);
  absl::StatusOr<Lease> AwaitTurn(absl::string_view key, const Patience& patience);
  void GiveBack(const std::string& key);

  const size_t capacity_;
  mutable PlainMutex mutex_;
  std::condition_variable_any changed_;  // a key has been given back, or somebody was cancelled
  absl::flat_hash_map<std::string, std::thread::id> running_ ABSL_GUARDED_BY(mutex_);
  // Null while a lease has it.
  absl::flat_hash_map<std::string, std::unique_ptr<History>> histories_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_STATE_CACHE_H_
