#include "marpc/limit/sliding_count.h"

#include <algorithm>

namespace marpc {
namespace {

constexpr uint32_t NumberOf(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
constexpr uint32_t CountIn(uint64_t word) { return static_cast<uint32_t>(word); }
constexpr uint64_t Pack(uint32_t number, uint32_t count) {
  return static_cast<uint64_t>(number) << 32 | count;
}

}  // namespace

// Everything is sequentially consistent: of two that add at once, in whatever buckets, one sees the
// other in its sum.

SlidingCount::SlidingCount(absl::Duration window)
    : bucket_nanos_(std::max<int64_t>(1, absl::ToInt64Nanoseconds(window) / kBuckets)) {}

void SlidingCount::Add(MonotonicTime now) {
  const int64_t bucket = BucketAt(now);
  const uint32_t number = static_cast<uint32_t>(bucket);
  std::atomic<uint64_t>& word = words_[static_cast<size_t>(bucket % kWords)];
  uint64_t before = word.load();
  uint64_t after;
  do {
    // A later bucket there: this thread was held up for a whole window. It counts as one of now.
    const bool later = static_cast<int32_t>(NumberOf(before) - number) > 0 && CountIn(before) > 0;
    after = NumberOf(before) == number || later ? before + 1 : Pack(number, 1);
  } while (!word.compare_exchange_weak(before, after));
}

void SlidingCount::TakeBack(MonotonicTime at) {
  const int64_t bucket = BucketAt(at);
  std::atomic<uint64_t>& word = words_[static_cast<size_t>(bucket % kWords)];
  uint64_t before = word.load();
  do {
    if (NumberOf(before) != static_cast<uint32_t>(bucket) || CountIn(before) == 0) return;
  } while (!word.compare_exchange_weak(before, before - 1));
}

uint32_t SlidingCount::CountOf(int64_t bucket) const {
  if (bucket < 0) return 0;
  const uint64_t word = words_[static_cast<size_t>(bucket % kWords)].load();
  // What another thread has counted since, in a later bucket than `now`'s, counts here too.
  const int32_t behind = static_cast<int32_t>(NumberOf(word) - static_cast<uint32_t>(bucket));
  return behind >= 0 && behind % kWords == 0 ? CountIn(word) : 0;
}

int64_t SlidingCount::Sum(MonotonicTime now) const {
  const int64_t latest = BucketAt(now);
  int64_t sum = 0;
  for (int64_t bucket = latest - kBuckets; bucket <= latest; ++bucket) sum += CountOf(bucket);
  return sum;
}

absl::Duration SlidingCount::UntilFewer(MonotonicTime now) const {
  const int64_t latest = BucketAt(now);
  for (int64_t bucket = latest - kBuckets; bucket <= latest; ++bucket) {
    if (CountOf(bucket) == 0) continue;
    return MonotonicTime::FromNanos((bucket + kWords) * bucket_nanos_) - now;
  }
  return absl::ZeroDuration();
}

}  // namespace marpc
