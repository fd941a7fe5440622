#include "marpc/circuitbreaker/slow_calls.h"

#include <algorithm>
#include <limits>

namespace marpc {
namespace {

// A word: the stamp, whether the bucket was taken as overdue, how many calls are in it, and how far
// into the bucket the latest began.
constexpr int kCountBits = 15;
constexpr int kLatestBits = 16;
constexpr uint32_t kMaxCount = (1u << kCountBits) - 1;
constexpr uint32_t kMaxLatest = (1u << kLatestBits) - 1;

struct Bucket {
  Stamp stamp;
  bool taken = false;
  uint32_t count = 0;
  uint32_t latest = 0;
};

constexpr uint64_t Pack(const Bucket& b) {
  return static_cast<uint64_t>(b.stamp.bits()) << 32 |
         static_cast<uint64_t>(b.taken) << (kCountBits + kLatestBits) |
         static_cast<uint64_t>(b.count) << kLatestBits | b.latest;
}
constexpr Bucket Unpack(uint64_t word) {
  return {Stamp(static_cast<uint32_t>(word >> 32)), (word >> (kCountBits + kLatestBits) & 1) != 0,
          static_cast<uint32_t>(word >> kLatestBits) & kMaxCount,
          static_cast<uint32_t>(word) & kMaxLatest};
}

}  // namespace

SlowCalls::SlowCalls(absl::Duration threshold)
    : threshold_nanos_(absl::ToInt64Nanoseconds(threshold)),
      bucket_nanos_(threshold_nanos_ / (kBuckets - 1) + 1) {}

void SlowCalls::StartPeriod(uint32_t period, MonotonicTime now) {
  for (Row& row : rows_) {
    for (Word& word : row.words) {
      word.store(Pack({Stamp(period, 0)}), std::memory_order_relaxed);
    }
    row.left_over.store(0, std::memory_order_relaxed);
  }
  due_.store(now.nanos() + threshold_nanos_ + 1, std::memory_order_relaxed);
}

SlowCalls::Ticket SlowCalls::Begin(uint32_t period, MonotonicTime now) {
  const int stripe = CurrentStripe();
  Row& row = rows_[stripe];
  const int64_t bucket = BucketAt(now);
  const Stamp stamp(period, bucket);
  // Rounded up: a call is never found to be slow too early.
  const auto latest = static_cast<uint32_t>(std::min<int64_t>(
      (now.nanos() % bucket_nanos_) * kMaxLatest / bucket_nanos_ + 1, kMaxLatest));
  Word& word = row.words[bucket % kBuckets];
  uint64_t before = word.load(std::memory_order_relaxed);
  while (true) {
    const Bucket was = Unpack(before);
    Bucket next{stamp, false, 1, latest};
    if (was.stamp == stamp) {
      // Taken already: `now` is older than that of whoever took it.
      if (was.taken || was.count == kMaxCount) return {};
      next.count = was.count + 1;
      next.latest = std::max(was.latest, latest);
    } else if (was.stamp.IsAfter(stamp)) {
      return {};
    }
    if (!word.compare_exchange_weak(before, Pack(next), std::memory_order_relaxed)) continue;
    if (was.stamp != stamp && !was.taken && was.count > 0 && was.stamp.SamePeriod(stamp)) {
      row.left_over.fetch_add(was.count, std::memory_order_relaxed);
    }
    return {stamp.bits(), static_cast<uint8_t>(stripe), static_cast<uint8_t>(bucket % kBuckets),
            true};
  }
}

bool SlowCalls::End(const Ticket& ticket) {
  if (!ticket.valid) return false;
  Word& word = rows_[ticket.stripe].words[ticket.bucket];
  uint64_t before = word.load(std::memory_order_relaxed);
  while (true) {
    Bucket bucket = Unpack(before);
    if (bucket.stamp.bits() != ticket.stamp || bucket.taken || bucket.count == 0) return true;
    --bucket.count;
    if (word.compare_exchange_weak(before, Pack(bucket), std::memory_order_relaxed)) return false;
  }
}

int64_t SlowCalls::OverdueAt(uint64_t word, MonotonicTime now) const {
  const Bucket bucket = Unpack(word);
  const int64_t current = BucketAt(now);
  const int64_t number = current - Stamp(bucket.stamp.period(), current).BucketsSince(bucket.stamp);
  return number * bucket_nanos_ + bucket.latest * bucket_nanos_ / kMaxLatest + threshold_nanos_ + 1;
}

int SlowCalls::TakeOverdue(uint32_t period, MonotonicTime now) {
  int64_t due = now.nanos() + threshold_nanos_ + 1;
  uint32_t taken = 0;
  const Stamp current(period, BucketAt(now));
  for (Row& row : rows_) {
    for (Word& word : row.words) {
      uint64_t before = word.load(std::memory_order_relaxed);
      while (true) {
        Bucket bucket = Unpack(before);
        if (!bucket.stamp.SamePeriod(current) || bucket.taken || bucket.count == 0) break;
        if (bucket.stamp.IsAfter(current)) break;
        if (const int64_t at = OverdueAt(before, now); at > now.nanos()) {
          due = std::min(due, at);
          break;
        }
        const uint32_t count = bucket.count;
        bucket.taken = true;
        bucket.count = 0;
        if (!word.compare_exchange_weak(before, Pack(bucket), std::memory_order_relaxed)) continue;
        taken += count;
        break;
      }
    }
    taken += row.left_over.exchange(0, std::memory_order_relaxed);
  }
  due_.store(due, std::memory_order_relaxed);
  return static_cast<int>(taken);
}

}  // namespace marpc
