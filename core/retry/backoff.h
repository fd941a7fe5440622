// How long to wait before a retry.
//
//   auto backoff = marpc::Backoff::Exponential(absl::Milliseconds(100), absl::Seconds(10));
//   backoff.WithJitter(0.2);
//   marpc::BackoffMemory memory;  // one for each session
//   absl::Duration wait = backoff.Delay(/*retry=*/1, random, memory);  // 80 ms to 120 ms
//
// | strategy           | the wait before the n-th retry                                           |
// |--------------------|--------------------------------------------------------------------------|
// | none               | 0                                                                        |
// | fixed              | initial                                                                  |
// | linear             | initial * n                                                              |
// | exponential        | initial * factor^(n-1)                                                   |
// | exponential-random | as exponential, times a draw from [1, factor]                            |
// | fibonacci          | initial * 1, 2, 3, 5, 8 ...                                              |
// | uniform            | a draw from [min, max]                                                   |
// | decorrelated       | initial; then a draw from [initial, 3 * the wait before]                 |
// | list               | the n-th of the delays; the last one repeats                             |
//
// It is at most `max` (list: none), then moved by up to ± jitter of itself, and again at most `max`
// unless jitter_may_exceed_max says otherwise. It is never negative, and a number at every n.
#ifndef MARPC_RETRY_BACKOFF_H_
#define MARPC_RETRY_BACKOFF_H_

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "marpc/base/random.h"
#include "marpc/config/settings.h"

namespace marpc {

// What a session remembers from one wait to the next.
struct BackoffMemory {
  absl::Duration previous = absl::ZeroDuration();  // before its jitter
};

// The wait before the retry-th retry (from 1).
absl::Duration BackoffDelay(const BackoffSettings& settings, int retry, RandomSource& random,
                            BackoffMemory& memory);

// InvalidArgument names what is wrong, for settings made in code; those of a file were checked when
// it was read. BackoffDelay() is safe with any settings.
absl::Status ValidateBackoff(const BackoffSettings& settings);

// The same as a value, for policies put together in code. Those made by the
// functions below have no jitter but by WithJitter(); settings of one's own have what they say.
class Backoff {
 public:
  // No wait.
  Backoff() { settings_.strategy = BackoffStrategy::kNone; }
  explicit Backoff(BackoffSettings settings) : settings_(std::move(settings)) {}

  static Backoff None() { return Backoff(); }
  static Backoff Fixed(absl::Duration delay);
  static Backoff Linear(absl::Duration initial, absl::Duration max);
  static Backoff Exponential(absl::Duration initial, absl::Duration max, double factor = 2);
  static Backoff ExponentialRandom(absl::Duration initial, absl::Duration max, double factor = 2);
  static Backoff Fibonacci(absl::Duration initial, absl::Duration max);
  static Backoff Uniform(absl::Duration min, absl::Duration max);
  static Backoff Decorrelated(absl::Duration initial, absl::Duration max);
  static Backoff List(std::vector<absl::Duration> delays);

  // A fraction of the wait, 0 to 1.
  Backoff& WithJitter(double jitter) {
    settings_.jitter = jitter;
    return *this;
  }

  absl::Duration Delay(int retry, RandomSource& random, BackoffMemory& memory) const {
    return BackoffDelay(settings_, retry, random, memory);
  }
  absl::Status Validate() const { return ValidateBackoff(settings_); }
  const BackoffSettings& settings() const { return settings_; }

 private:
  BackoffSettings settings_;
};

}  // namespace marpc

#endif  // MARPC_RETRY_BACKOFF_H_
