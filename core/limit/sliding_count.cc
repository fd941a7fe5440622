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
// other in its sum. For a sum that is kept this holds, because who adds looks at newest_ after it
// has added, and who adds up sets newest_ before it looks: either the one is in the sum, or it sees
// that it is not, and says so in disturbed_.

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
  const uint32_t newest = static_cast<uint32_t>(newest_.load());
  const bool behind = static_cast<int32_t>(NumberOf(after) - newest) < 0;
  // The first of a bucket counts, too, for those who are still in an earlier one.
  if (behind || CountIn(after) == 1) disturbed_.fetch_add(1);
}

void SlidingCount::TakeBack(MonotonicTime at) {
  const int64_t bucket = BucketAt(at);
  std::atomic<uint64_t>& word = words_[static_cast<size_t>(bucket % kWords)];
  uint64_t before = word.load();
  do {
    if (NumberOf(before) != static_cast<uint32_t>(bucket) || CountIn(before) == 0) return;
  } while (!word.compare_exchange_weak(before, before - 1));
  disturbed_.fetch_add(1);
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
  return SumBefore(latest) + CountOf(latest);
}

int64_t SlidingCount::SumBefore(int64_t bucket) const {
  const uint32_t sequence = before_.sequence.load();
  if (sequence % 2 == 0 && before_.bucket.load() == bucket) {
    const int64_t sum = before_.sum.load();
    const bool holds = before_.as_of.load() == disturbed_.load();
    if (holds && before_.sequence.load() == sequence) return sum;
  }
  const uint64_t as_of = disturbed_.load();
  int64_t newest = newest_.load();
  while (newest < bucket && !newest_.compare_exchange_weak(newest, bucket)) {
  }
  const int64_t sum = AddUpBefore(bucket);
  if (newest <= bucket) Keep(bucket, sum, as_of);
  return sum;
}

int64_t SlidingCount::AddUpBefore(int64_t bucket) const {
  int64_t sum = 0;
  for (int64_t one = bucket - kBuckets; one < bucket; ++one) sum += CountOf(one);
  return sum;
}

void SlidingCount::Keep(int64_t bucket, int64_t sum, uint64_t as_of) const {
  uint32_t sequence = before_.sequence.load();
  if (sequence % 2 != 0 || !before_.sequence.compare_exchange_strong(sequence, sequence + 1)) {
    return;  // another is at it
  }
  before_.bucket.store(bucket);
  before_.sum.store(sum);
  before_.as_of.store(as_of);
  before_.sequence.store(sequence + 2);
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
