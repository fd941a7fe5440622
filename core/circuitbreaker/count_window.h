// The latest calls, a byte each.
#ifndef MARPC_CIRCUITBREAKER_COUNT_WINDOW_H_
#define MARPC_CIRCUITBREAKER_COUNT_WINDOW_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "marpc/circuitbreaker/rate_window.h"

namespace marpc {

class CountWindow final : public RateWindow {
 public:
  explicit CountWindow(int calls);
  void StartPeriod(uint32_t period) override;
  void Record(uint32_t period, bool failed, bool slow, MonotonicTime now) override;
  void MarkFailed(uint32_t period, MonotonicTime now) override;
  CallCounts Counts(uint32_t period, MonotonicTime now) const override;
  bool AnyBad(uint32_t period, MonotonicTime now) const override;

 private:
  using Slot = std::atomic<uint8_t>;

  // The place of the next call; -1 when the period is over.
  int TakePlace(uint32_t period);
  void AddTotals(uint32_t period, int failed, int slow);

  const int calls_;
  // The period, and in the lower half how many calls there were: below calls_ that is all of them;
  // from there on it goes round between calls_ and twice calls_.
  std::atomic<uint64_t> head_{0};
  // The period, and the failed and the slow calls in the window, 16 bits each.
  std::atomic<uint64_t> totals_{0};
  // The last bits of the period, and what became of the call.
  const std::unique_ptr<Slot[]> slots_;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_COUNT_WINDOW_H_
