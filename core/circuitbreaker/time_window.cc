#include "marpc/circuitbreaker/time_window.h"

#include <algorithm>

#include "marpc/base/stripe.h"

namespace marpc {
namespace {

constexpr int kBadRow = kStripes;
constexpr uint32_t kMaxBad = 0xffff;  // in a bucket; it is long open by then

constexpr uint64_t Pack(Stamp stamp, uint32_t counts) {
  return static_cast<uint64_t>(stamp.bits()) << 32 | counts;
}
constexpr Stamp StampOf(uint64_t word) { return Stamp(static_cast<uint32_t>(word >> 32)); }
constexpr uint32_t CountsOf(uint64_t word) { return static_cast<uint32_t>(word); }

// Adds to a word of this stamp; one of an older stamp starts over, one of a later is left alone.
template <typename Add>
void Update(std::atomic<uint64_t>& word, Stamp stamp, Add add) {
  uint64_t before = word.load(std::memory_order_relaxed);
  while (true) {
    if (StampOf(before).IsAfter(stamp)) return;
    const uint32_t counts = StampOf(before) == stamp ? CountsOf(before) : 0;
    if (word.compare_exchange_weak(before, Pack(stamp, add(counts)), std::memory_order_relaxed)) {
      return;
    }
  }
}

}  // namespace

TimeWindow::TimeWindow(absl::Duration size, int buckets)
    : buckets_(buckets),
      bucket_nanos_(std::max<int64_t>(1, absl::ToInt64Nanoseconds(size) / buckets)),
      lines_a_row_((static_cast<size_t>(buckets) + 7) / 8),
      lines_(new Line[lines_a_row_ * (kStripes + 1)]()) {}

void TimeWindow::StartPeriod(uint32_t period) {
  for (size_t line = 0; line < lines_a_row_ * (kStripes + 1); ++line) {
    for (Word& word : lines_[line].words) {
      word.store(Pack(Stamp(period, 0), 0), std::memory_order_relaxed);
    }
  }
  any_bad_.store(false, std::memory_order_relaxed);
}

void TimeWindow::Record(uint32_t period, bool failed, bool slow, MonotonicTime now) {
  Update(WordOf(CurrentStripe(), BucketAt(now)), At(period, now),
         [](uint32_t calls) { return calls + 1; });
  if (failed || slow) AddBad(period, failed, slow, now);
}

void TimeWindow::MarkFailed(uint32_t period, MonotonicTime now) { AddBad(period, 1, 0, now); }

void TimeWindow::AddBad(uint32_t period, uint32_t failed, uint32_t slow, MonotonicTime now) {
  const Stamp stamp = At(period, now);
  Update(WordOf(kBadRow, BucketAt(now)), stamp, [&](uint32_t counts) {
    return std::min((counts >> 16) + failed, kMaxBad) << 16 |
           std::min((counts & kMaxBad) + slow, kMaxBad);
  });
  last_bad_.store(stamp.bits(), std::memory_order_relaxed);
  any_bad_.store(true, std::memory_order_release);
}

bool TimeWindow::AnyBad(uint32_t period, MonotonicTime now) const {
  if (!any_bad_.load(std::memory_order_acquire)) return false;
  const Stamp last(last_bad_.load(std::memory_order_relaxed));
  const int32_t age = At(period, now).BucketsSince(last);
  // One that came later than `now` looks very old: then it is better to look than to miss it.
  return age >= 0 && (age < buckets_ || last.IsAfter(At(period, now)));
}

CallCounts TimeWindow::Counts(uint32_t period, MonotonicTime now) const {
  const Stamp current = At(period, now);
  CallCounts counts;
  const auto counts_at = [&](int row, int at) -> uint32_t {
    const uint64_t word = WordOf(row, at).load(std::memory_order_relaxed);
    const int32_t age = current.BucketsSince(StampOf(word));
    return age >= 0 && age < buckets_ ? CountsOf(word) : 0;
  };
  for (int at = 0; at < buckets_; ++at) {
    for (int stripe = 0; stripe < kStripes; ++stripe) counts.calls += counts_at(stripe, at);
    const uint32_t bad = counts_at(kBadRow, at);
    counts.failed += bad >> 16;
    counts.slow += bad & kMaxBad;
  }
  // Calls are counted before what was bad of them, and read in the same order.
  counts.calls = std::max({counts.calls, counts.failed, counts.slow});
  return counts;
}

}  // namespace marpc
