// Leaves a peer alone that a whole session of retries could not reach: after one that ended with
// its means used up, none is begun for `reset_timeout`.
//
//   // One for the peer.
//   auto breaker = std::make_shared<marpc::SessionBreaker>(absl::Seconds(10));
//   marpc::Retry retry = marpc::Retry::OnError().Max(3).Breaker(breaker);
//
// It counts from the session that opened it: sessions that it refuses, and those that were under
// way and end badly meanwhile, do not prolong it. There is no half-open state: after the time it is
// closed. CircuitBreaker is the one that counts single attempts and probes.
#ifndef MARPC_RETRY_SESSION_BREAKER_H_
#define MARPC_RETRY_SESSION_BREAKER_H_

#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "marpc/base/clock.h"

namespace marpc {

// Thread-safe.
class SessionBreaker {
 public:
  explicit SessionBreaker(absl::Duration reset_timeout) : reset_timeout_(reset_timeout) {}

  // Closed again strictly after reset_timeout.
  bool IsOpen(MonotonicTime now) const { return RetryAfter(now) > absl::ZeroDuration(); }
  // How long it stays open; zero when it is closed.
  absl::Duration RetryAfter(MonotonicTime now) const {
    const int64_t opened = opened_at_.load(std::memory_order_acquire);
    if (opened == kNever) return absl::ZeroDuration();
    const absl::Duration left = MonotonicTime::FromNanos(opened) + reset_timeout_ - now;
    return left < absl::ZeroDuration() ? absl::ZeroDuration() : left + absl::Nanoseconds(1);
  }
  // A session has ended with its means used up. No effect while it is open.
  void Open(MonotonicTime now) {
    int64_t opened = opened_at_.load(std::memory_order_acquire);
    if (IsOpen(now)) return;
    opened_at_.compare_exchange_strong(opened, now.nanos(), std::memory_order_acq_rel);
  }
  void Close() { opened_at_.store(kNever, std::memory_order_release); }

  absl::Duration reset_timeout() const { return reset_timeout_; }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();
  const absl::Duration reset_timeout_;
  std::atomic<int64_t> opened_at_{kNever};
};

}  // namespace marpc

#endif  // MARPC_RETRY_SESSION_BREAKER_H_
