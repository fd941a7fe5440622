// The calls of the latest time, in buckets: what is older than the window goes a bucket at a time,
// so that it holds between (buckets - 1) / buckets and all of it.
//
// Each stripe of processors counts its calls apart; bad ones, which are rare, are counted together.
#ifndef MARPC_CIRCUITBREAKER_TIME_WINDOW_H_
#define MARPC_CIRCUITBREAKER_TIME_WINDOW_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "marpc/circuitbreaker/rate_window.h"
#include "marpc/circuitbreaker/stamp.h"

namespace marpc {

class TimeWindow final : public RateWindow {
 public:
  TimeWindow(absl::Duration size, int buckets);
  void StartPeriod(uint32_t period) override;
  void Record(uint32_t period, bool failed, bool slow, MonotonicTime now) override;
  void MarkFailed(uint32_t period, MonotonicTime now) override;
  CallCounts Counts(uint32_t period, MonotonicTime now) const override;
  bool AnyBad(uint32_t period, MonotonicTime now) const override;

 private:
  // A stamp in the upper half, counts in the lower.
  using Word = std::atomic<uint64_t>;
  struct alignas(64) Line {
    Word words[8];
  };

  int64_t BucketAt(MonotonicTime now) const { return now.nanos() / bucket_nanos_; }
  Stamp At(uint32_t period, MonotonicTime now) const { return Stamp(period, BucketAt(now)); }
  // The bucket's word of a stripe, or of the bad calls.
  Word& WordOf(int row, int64_t bucket) const {
    const size_t at = static_cast<size_t>(bucket % buckets_);
    return lines_[static_cast<size_t>(row) * lines_a_row_ + at / 8].words[at % 8];
  }
  void AddBad(uint32_t period, uint32_t failed, uint32_t slow, MonotonicTime now);

  const int buckets_;
  const int64_t bucket_nanos_;
  const size_t lines_a_row_;
  const std::unique_ptr<Line[]> lines_;
  // The latest stamp with a bad call.
  std::atomic<uint32_t> last_bad_{0};
  std::atomic<bool> any_bad_{false};
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_TIME_WINDOW_H_
