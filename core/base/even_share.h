// Lets exactly a share of what comes through, evenly spread: of 25 %, every fourth.
#ifndef MARPC_BASE_EVEN_SHARE_H_
#define MARPC_BASE_EVEN_SHARE_H_

#include <atomic>
#include <cmath>
#include <cstdint>

namespace marpc {

// Thread-safe, without a lock.
class EvenShare {
 public:
  // The next one is let through, if the share does not fall until then.
  void StartOver(double share) { sum_.store(kOne - Units(share), std::memory_order_relaxed); }
  // True of one that is let through. `share` is from 0 to 1 and may change from one to the next.
  bool Take(double share) {
    const uint64_t units = Units(share);
    const uint64_t before = sum_.fetch_add(units, std::memory_order_relaxed);
    return (before + units) / kOne != before / kOne;
  }
  // How many calls of Take(share) from here on there are with the first that is true.
  uint64_t TakesUntilThrough(double share) const {
    const uint64_t left = kOne - sum_.load(std::memory_order_relaxed) % kOne;
    const uint64_t units = Units(share);
    return (left + units - 1) / units;
  }
  // Does what `times` of them do.
  void TakeTimes(double share, uint64_t times) {
    sum_.fetch_add(Units(share) * times, std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kOne = uint64_t{1} << 32;
  // Rounded up, so that ten tenths make a whole.
  static uint64_t Units(double share) {
    return static_cast<uint64_t>(std::ceil(share * static_cast<double>(kOne)));
  }
  // Of the shares; each whole that it passes is one let through.
  std::atomic<uint64_t> sum_{0};
};

}  // namespace marpc

#endif  // MARPC_BASE_EVEN_SHARE_H_
