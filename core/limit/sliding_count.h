// How much happened in the latest time.
//
//   SlidingCount calls(absl::Seconds(1));
//   calls.Add(now);
//   int64_t in_the_last_second = calls.Sum(now);
#ifndef MARPC_LIMIT_SLIDING_COUNT_H_
#define MARPC_LIMIT_SLIDING_COUNT_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "marpc/base/clock.h"

namespace marpc {

// Counts in buckets of a 32nd of the window, and forgets a bucket when all of it is older than the
// window: what is younger than the window is always counted, and what is older by more than a
// bucket never. Thread-safe, without a lock; fewer than 2^32 a bucket. Add() and Sum() are a few
// loads and stores each, but for the first of a bucket.
class SlidingCount {
 public:
  explicit SlidingCount(absl::Duration window);

  void Add(MonotonicTime now);
  // What was added at `at` did not happen after all. No effect where it is forgotten already.
  void TakeBack(MonotonicTime at);
  int64_t Sum(MonotonicTime now) const;
  // Until the oldest of what is counted is forgotten; 0 when nothing is.
  absl::Duration UntilFewer(MonotonicTime now) const;

 private:
  static constexpr int kBuckets = 32;
  static constexpr int kWords = kBuckets + 1;  // the oldest one is only partly in the window

  // What Sum() found in the buckets before one, for the next that asks in the same bucket. Behind a
  // sequence lock: odd while it is written.
  struct Before {
    std::atomic<uint32_t> sequence{0};
    std::atomic<int64_t> bucket{-1};
    std::atomic<int64_t> sum{0};
    std::atomic<uint64_t> as_of{0};  // what disturbed_ was
  };

  int64_t BucketAt(MonotonicTime t) const { return t.nanos() / bucket_nanos_; }
  // The count of that bucket, if it is still there.
  uint32_t CountOf(int64_t bucket) const;
  // Of all buckets in the window before that one.
  int64_t SumBefore(int64_t bucket) const;
  int64_t AddUpBefore(int64_t bucket) const;
  void Keep(int64_t bucket, int64_t sum, uint64_t as_of) const;

  const int64_t bucket_nanos_;
  // The bucket's number, cut to 32 bits, in the upper half, its count in the lower.
  std::array<std::atomic<uint64_t>, kWords> words_{};
  // The latest bucket whose former ones are, or are being, added up.
  alignas(64) mutable std::atomic<int64_t> newest_{-1};
  // Goes up when a count changes that a sum already found may lack.
  std::atomic<uint64_t> disturbed_{0};
  mutable Before before_;
};

}  // namespace marpc

#endif  // MARPC_LIMIT_SLIDING_COUNT_H_
