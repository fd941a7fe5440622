// The latencies of the last while, for percentiles.
#ifndef MARPC_BASE_LATENCY_DIGEST_H_
#define MARPC_BASE_LATENCY_DIGEST_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "marpc/base/clock.h"

namespace marpc {

// Counts in buckets of at most an eighth of their value, from 8 us to more than 60 s, over the
// current period and the one before it: a percentile is at most an eighth too high, and follows a
// change within one period.
// Thread-safe; Record() takes no lock and allocates nothing.
class LatencyDigest {
 public:
  explicit LatencyDigest(absl::Duration period = absl::Seconds(10));

  void Record(absl::Duration latency, MonotonicTime now);
  // `fraction` in (0, 1]: 0.95. None while fewer than `at_least` latencies are known.
  std::optional<absl::Duration> Percentile(double fraction, int at_least, MonotonicTime now);

 private:
  static constexpr int kPerOctave = 8;
  static constexpr int kBuckets = 26 * kPerOctave + kPerOctave;
  using Counts = std::array<std::atomic<uint32_t>, kBuckets>;

  static int BucketOf(absl::Duration latency);
  static absl::Duration UpperBound(int bucket);
  // Starts the period of `now` if nobody has; returns its counts.
  Counts& Advance(MonotonicTime now);

  const int64_t period_nanos_;
  std::atomic<int64_t> epoch_{-1};
  std::array<Counts, 3> counts_{};
};

}  // namespace marpc

#endif  // MARPC_BASE_LATENCY_DIGEST_H_
