#include "marpc/retry/deposit_ring.h"

#include <algorithm>

namespace marpc {
namespace {

constexpr int kCountBits = 28;
constexpr int kOffsetBits = 8;
constexpr int kEpochBits = 28;
static_assert(kEpochBits + kOffsetBits + kCountBits == 64);
constexpr uint64_t kCountMask = (uint64_t{1} << kCountBits) - 1;
constexpr uint64_t kOffsetMask = (uint64_t{1} << kOffsetBits) - 1;
constexpr uint64_t kEpochMask = (uint64_t{1} << kEpochBits) - 1;

uint64_t Pack(uint64_t epoch, uint64_t offset, uint64_t count) {
  return epoch << (kOffsetBits + kCountBits) | offset << kCountBits | count;
}
uint64_t EpochIn(uint64_t word) { return word >> (kOffsetBits + kCountBits); }
uint64_t OffsetIn(uint64_t word) { return word >> kCountBits & kOffsetMask; }
uint64_t CountIn(uint64_t word) { return word & kCountMask; }

// An epoch that none of the first ones is equal to.
constexpr uint64_t kNever = kEpochMask;

// Epochs come round after half a year at least; what is more than half of it ahead is behind.
bool IsBehind(uint64_t epoch, uint64_t other) {
  return ((epoch - other) & kEpochMask) > kEpochMask / 2;
}

int WidthFor(int64_t keep_nanos, int slots) {
  int shift = kOffsetBits;
  // One slot is open, and one half gone.
  while ((int64_t{1} << shift) < keep_nanos / (slots - 2) + 1) ++shift;
  return shift;
}

// Threads take the stripes in turn.
unsigned NumberOfThisThread() {
  static std::atomic<unsigned> next{0};
  thread_local const unsigned number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

DepositRing::DepositRing(int64_t keep_nanos) : shift_(WidthFor(keep_nanos, kSlots)) {
  for (Stripe& stripe : stripes_) {
    for (Slot& slot : stripe.slots) slot.store(Pack(kNever, 0, 0), std::memory_order_relaxed);
  }
}

void DepositRing::Add(int64_t at) {
  const auto time = static_cast<uint64_t>(std::max<int64_t>(at, 0));
  const uint64_t epoch = time >> shift_ & kEpochMask;
  Slot& slot = stripes_[NumberOfThisThread() % kStripes].slots[epoch % kSlots];
  uint64_t word = slot.load(std::memory_order_relaxed);
  // One that was held up while the ring came round counts for the newer epoch.
  while ((EpochIn(word) != epoch && !IsBehind(epoch, EpochIn(word))) || CountIn(word) == 0) {
    const uint64_t offset = time >> (shift_ - kOffsetBits) & kOffsetMask;
    if (slot.compare_exchange_weak(word, Pack(epoch, offset, 1), std::memory_order_relaxed)) {
      return;
    }
  }
  slot.fetch_add(1, std::memory_order_relaxed);
}

int64_t DepositRing::StampOf(int64_t epoch, uint64_t word) const {
  return (epoch << shift_) + (static_cast<int64_t>(OffsetIn(word)) << (shift_ - kOffsetBits));
}

void DepositRing::Drain(int64_t until,
                        absl::FunctionRef<void(int64_t stamp, int64_t deposits)> sink) {
  const int64_t last = std::max<int64_t>(until, 0) >> shift_;
  for (int64_t epoch = std::max(drained_to_, last - kSlots + 1); epoch <= last; ++epoch) {
    int64_t deposits = 0;
    int64_t stamp = (epoch + 1) << shift_;
    for (Stripe& stripe : stripes_) {
      Slot& slot = stripe.slots[epoch % kSlots];
      uint64_t word = slot.load(std::memory_order_relaxed);
      while (EpochIn(word) == (static_cast<uint64_t>(epoch) & kEpochMask) && CountIn(word) > 0) {
        if (!slot.compare_exchange_weak(word, word & ~kCountMask, std::memory_order_relaxed)) {
          continue;
        }
        deposits += static_cast<int64_t>(CountIn(word));
        stamp = std::min(stamp, StampOf(epoch, word));
        break;
      }
    }
    if (deposits > 0) sink(stamp, deposits);
  }
  drained_to_ = std::max(drained_to_, last);
}

}  // namespace marpc
