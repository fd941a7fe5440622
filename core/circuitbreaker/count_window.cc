#include "marpc/circuitbreaker/count_window.h"

namespace marpc {
namespace {

constexpr int kFailed = 1;
constexpr int kSlow = 2;

constexpr uint8_t Tagged(uint32_t period, int what) {
  return static_cast<uint8_t>(period << 2 | static_cast<uint32_t>(what));
}
// The tags' distance; negative: of an earlier period.
constexpr int TagsSince(uint8_t slot, uint32_t period) {
  return static_cast<int8_t>((slot & 0xfc) - Tagged(period, 0)) / 4;
}

}  // namespace

CountWindow::CountWindow(int calls) : calls_(calls), slots_(new Slot[calls]()) {}

void CountWindow::StartPeriod(uint32_t period) {
  // The head first: from here on nobody takes a place of the old period.
  head_.store(static_cast<uint64_t>(period) << 32, std::memory_order_relaxed);
  totals_.store(static_cast<uint64_t>(period) << 32, std::memory_order_relaxed);
  for (int i = 0; i < calls_; ++i) slots_[i].store(Tagged(period, 0), std::memory_order_relaxed);
}

int CountWindow::TakePlace(uint32_t period) {
  uint64_t head = head_.load(std::memory_order_relaxed);
  uint32_t taken;
  do {
    if (head >> 32 != period) return -1;
    taken = static_cast<uint32_t>(head);
  } while (!head_.compare_exchange_weak(
      head,
      static_cast<uint64_t>(period) << 32 |
          (taken + 1 == 2 * static_cast<uint32_t>(calls_) ? static_cast<uint32_t>(calls_)
                                                          : taken + 1),
      std::memory_order_relaxed));
  return static_cast<int>(taken % static_cast<uint32_t>(calls_));
}

void CountWindow::AddTotals(uint32_t period, int failed, int slow) {
  if (failed == 0 && slow == 0) return;
  uint64_t totals = totals_.load(std::memory_order_relaxed);
  uint64_t next;
  do {
    if (totals >> 32 != period) return;
    const int all_failed = static_cast<int>(totals >> 16 & 0xffff) + failed;
    const int all_slow = static_cast<int>(totals & 0xffff) + slow;
    next = static_cast<uint64_t>(period) << 32 | static_cast<uint64_t>(all_failed & 0xffff) << 16 |
           static_cast<uint64_t>(all_slow & 0xffff);
  } while (!totals_.compare_exchange_weak(totals, next, std::memory_order_relaxed));
}

void CountWindow::Record(uint32_t period, bool failed, bool slow, MonotonicTime) {
  const int place = TakePlace(period);
  if (place < 0) return;
  const int what = (failed ? kFailed : 0) | (slow ? kSlow : 0);
  uint8_t before = slots_[place].load(std::memory_order_relaxed);
  do {
    if (TagsSince(before, period) > 0) return;
  } while (!slots_[place].compare_exchange_weak(before, Tagged(period, what),
                                                std::memory_order_relaxed));
  const int was = TagsSince(before, period) == 0 ? before & 3 : 0;
  AddTotals(period, (what & kFailed) - (was & kFailed), (what & kSlow) / 2 - (was & kSlow) / 2);
}

// Which of the slow ones it was does not matter.
void CountWindow::MarkFailed(uint32_t period, MonotonicTime) {
  for (int i = 0; i < calls_; ++i) {
    uint8_t slow = Tagged(period, kSlow);
    if (slots_[i].compare_exchange_strong(slow, Tagged(period, kSlow | kFailed),
                                          std::memory_order_relaxed)) {
      return AddTotals(period, 1, 0);
    }
  }
}

CallCounts CountWindow::Counts(uint32_t period, MonotonicTime) const {
  const uint64_t totals = totals_.load(std::memory_order_relaxed);
  const uint64_t head = head_.load(std::memory_order_relaxed);
  if (totals >> 32 != period || head >> 32 != period) return {};
  CallCounts counts;
  const auto taken = static_cast<int64_t>(head & 0xffffffff);
  counts.calls = taken < calls_ ? taken : calls_;
  counts.failed = static_cast<int64_t>(totals >> 16 & 0xffff);
  counts.slow = static_cast<int64_t>(totals & 0xffff);
  return counts;
}

bool CountWindow::AnyBad(uint32_t period, MonotonicTime) const {
  const uint64_t totals = totals_.load(std::memory_order_relaxed);
  return totals >> 32 == period && (totals & 0xffffffff) != 0;
}

}  // namespace marpc
