// A status that one thread waits for and another brings.
#ifndef MARPC_REGISTRY_OUTCOME_H_
#define MARPC_REGISTRY_OUTCOME_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace marpc {

// Thread-safe. Made of standard parts, which ThreadSanitizer can follow into.
class Outcome {
 public:
  // The first call counts.
  void Set(absl::Status status) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!status_.has_value()) status_ = std::move(status);
    changed_.notify_all();
  }

  // None when nothing was brought within `timeout`.
  std::optional<absl::Status> WaitFor(absl::Duration timeout) {
    // An hour is as good as for ever, and does not overflow the standard clock.
    const auto limit = absl::ToChronoMilliseconds(std::min(timeout, absl::Hours(1)));
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_until(lock, std::chrono::steady_clock::now() + limit,
                        [this] { return status_.has_value(); });
    if (!status_.has_value()) return std::nullopt;
    // A copy that shares nothing: Abseil's library counts the holders of a shared one, which
    // ThreadSanitizer does not see.
    return absl::Status(status_->code(), status_->message());
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::Status> status_;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_OUTCOME_H_
