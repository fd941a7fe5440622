// The last good answers, for when there is no new one: stale if error.
//
//   marpc::LastGood<Rates> rates(/*max_age=*/absl::Minutes(10));
//   marpc::RetryReport report;
//   absl::StatusOr<Rates> now = marpc::Retry::OnError().Max(3)
//                                   .Fallback(rates.Fallback("EUR"))
//                                   .Call(rates.Keeping("EUR", [&] { return FetchRates("EUR"); }),
//                                         {.report = &report});
//   // report.answered_by says whether it is an old one
//
// An answer older than max_age is never given: the error goes to the caller then.
#ifndef MARPC_RETRY_LAST_GOOD_H_
#define MARPC_RETRY_LAST_GOOD_H_

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/retry/retry_result.h"

namespace marpc {

// Thread-safe. Copies share what they keep. T must be copyable.
template <typename T>
class LastGood {
 public:
  // Keeps the answers of at most `capacity` keys; the one that was not kept for longest goes first.
  // `clock` must outlive all copies.
  explicit LastGood(absl::Duration max_age, size_t capacity = 1000,
                    const Clock& clock = Clock::Real())
      : state_(std::make_shared<State>(max_age, capacity, clock)) {}

  void Keep(absl::string_view key, T value) { state_->Keep(key, std::move(value)); }
  // None when there is none, or it is too old.
  std::optional<T> Get(absl::string_view key) const { return state_->Get(key); }
  void Forget(absl::string_view key) { state_->Forget(key); }

  // `fn` as it is, whose good answers are kept. It returns T or StatusOr<T>, and may take a
  // RetryContext&.
  template <typename Fn>
  auto Keeping(std::string key, Fn fn) const {
    return [state = state_, key = std::move(key),
            fn = std::move(fn)](RetryContext& context) -> absl::StatusOr<T> {
      absl::StatusOr<T> answer = retry_internal::InvokeWith(fn, context);
      if (answer.ok()) state->Keep(key, *answer);
      return answer;
    };
  }
  // For Retry::Fallback(): the kept answer, else the error.
  auto Fallback(std::string key) const {
    return [state = state_, key = std::move(key)](const absl::Status& error) -> absl::StatusOr<T> {
      std::optional<T> kept = state->Get(key);
      if (kept.has_value()) return *std::move(kept);
      return error;
    };
  }

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<const T> value;
    MonotonicTime at;
  };
  struct State {
    State(absl::Duration max_age, size_t capacity, const Clock& clock)
        : max_age(max_age), capacity(capacity), clock(clock) {}

    // T's own code, its destructor for one, runs without the lock: it may be slow, or ask for
    // another answer.
    void Keep(absl::string_view key, T value) {
      auto kept = std::make_shared<const T>(std::move(value));
      std::list<Kept> dropped;
      absl::MutexLock lock(&mutex);
      Erase(key, dropped);
      order.push_front({std::string(key), std::move(kept), clock.Now()});
      by_key.emplace(order.front().key, order.begin());
      if (order.size() > capacity) Erase(std::string(order.back().key), dropped);
    }
    std::optional<T> Get(absl::string_view key) {
      const std::shared_ptr<const T> kept = Find(key);
      if (kept == nullptr) return std::nullopt;
      return *kept;
    }
    std::shared_ptr<const T> Find(absl::string_view key) {
      absl::MutexLock lock(&mutex);
      const auto it = by_key.find(key);
      if (it == by_key.end() || clock.Now() - it->second->at > max_age) return nullptr;
      return it->second->value;
    }
    void Forget(absl::string_view key) {
      std::list<Kept> dropped;
      absl::MutexLock lock(&mutex);
      Erase(key, dropped);
    }
    void Erase(absl::string_view key, std::list<Kept>& dropped)
        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      const auto it = by_key.find(key);
      if (it == by_key.end()) return;
      const auto kept = it->second;
      by_key.erase(it);
      dropped.splice(dropped.end(), order, kept);
    }

    const absl::Duration max_age;
    const size_t capacity;
    const Clock& clock;
    absl::Mutex mutex;
    std::list<Kept> order ABSL_GUARDED_BY(mutex);  // the newest first
    absl::flat_hash_map<absl::string_view, typename std::list<Kept>::iterator> by_key
        ABSL_GUARDED_BY(mutex);
  };

  std::shared_ptr<State> state_;
};

}  // namespace marpc

#endif  // MARPC_RETRY_LAST_GOOD_H_
