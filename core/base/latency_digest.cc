#include "marpc/base/latency_digest.h"

#include <algorithm>
#include <bit>

namespace marpc {

LatencyDigest::LatencyDigest(absl::Duration period)
    : period_nanos_(std::max<int64_t>(1, absl::ToInt64Nanoseconds(period))) {}

// A microsecond count's octave, and the eighth of it that the next three bits name.
int LatencyDigest::BucketOf(absl::Duration latency) {
  const uint64_t us = std::max<int64_t>(0, absl::ToInt64Microseconds(latency));
  if (us < kPerOctave) return static_cast<int>(us);
  const int octave = std::bit_width(us) - 1;
  const int eighth = static_cast<int>((us >> (octave - 3)) & (kPerOctave - 1));
  return std::min((octave - 2) * kPerOctave + eighth, kBuckets - 1);
}

absl::Duration LatencyDigest::UpperBound(int bucket) {
  if (bucket < kPerOctave) return absl::Microseconds(bucket + 1);
  const int octave = bucket / kPerOctave + 2;
  const int eighth = bucket % kPerOctave;
  return absl::Microseconds(int64_t{kPerOctave + eighth + 1} << (octave - 3));
}

LatencyDigest::Counts& LatencyDigest::Advance(MonotonicTime now) {
  const int64_t epoch = now.nanos() / period_nanos_;
  int64_t last = epoch_.load(std::memory_order_acquire);
  // One thread wins and empties the period after the coming one, which nobody writes to yet. A
  // latency recorded meanwhile may be lost, which a percentile does not mind.
  if (epoch > last && epoch_.compare_exchange_strong(last, epoch, std::memory_order_acq_rel)) {
    const bool skipped = epoch > last + 1;
    for (auto& count : counts_[(epoch + 1) % 3]) count.store(0, std::memory_order_relaxed);
    if (skipped) {
      for (auto& count : counts_[epoch % 3]) count.store(0, std::memory_order_relaxed);
      for (auto& count : counts_[(epoch + 2) % 3]) count.store(0, std::memory_order_relaxed);
    }
  }
  return counts_[epoch % 3];
}

void LatencyDigest::Record(absl::Duration latency, MonotonicTime now) {
  Advance(now)[BucketOf(latency)].fetch_add(1, std::memory_order_relaxed);
}

std::optional<absl::Duration> LatencyDigest::Percentile(double fraction, int at_least,
                                                        MonotonicTime now) {
  const Counts& current = Advance(now);
  const Counts& former = counts_[(now.nanos() / period_nanos_ + 2) % 3];
  uint64_t total = 0;
  for (int i = 0; i < kBuckets; ++i) {
    total += current[i].load(std::memory_order_relaxed) + former[i].load(std::memory_order_relaxed);
  }
  if (total == 0 || total < static_cast<uint64_t>(at_least)) return std::nullopt;
  const double wanted = fraction * static_cast<double>(total);
  uint64_t seen = 0;
  int bucket = 0;
  for (; bucket < kBuckets - 1; ++bucket) {
    seen += current[bucket].load(std::memory_order_relaxed) +
            former[bucket].load(std::memory_order_relaxed);
    if (static_cast<double>(seen) >= wanted) break;
  }
  return UpperBound(bucket);
}

}  // namespace marpc
