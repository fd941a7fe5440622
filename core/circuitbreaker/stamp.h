// A period and a bucket of time in 32 bits, for counters that start over by themselves.
#ifndef MARPC_CIRCUITBREAKER_STAMP_H_
#define MARPC_CIRCUITBREAKER_STAMP_H_

#include <cstdint>

namespace marpc {

class Stamp {
 public:
  constexpr Stamp(uint32_t period, int64_t bucket)
      : bits_((period << kBucketBits) | (static_cast<uint32_t>(bucket) & kBucketMask)) {}
  constexpr explicit Stamp(uint32_t bits) : bits_(bits) {}

  constexpr uint32_t bits() const { return bits_; }
  constexpr uint32_t period() const { return bits_ >> kBucketBits; }
  constexpr bool SamePeriod(Stamp other) const { return period() == other.period(); }
  // Later by less than half of all there are.
  constexpr bool IsAfter(Stamp other) const {
    return static_cast<int32_t>(bits_ - other.bits_) > 0;
  }
  // Buckets since `other`, of the same period; negative otherwise.
  constexpr int32_t BucketsSince(Stamp other) const {
    if (!SamePeriod(other)) return -1;
    return static_cast<int32_t>((bits_ - other.bits_) & kBucketMask);
  }
  friend constexpr bool operator==(Stamp, Stamp) = default;

 private:
  // Buckets of 10 ms come round after 7 days, those of a second after 2 years.
  static constexpr int kBucketBits = 26;
  static constexpr uint32_t kBucketMask = (1u << kBucketBits) - 1;
  uint32_t bits_;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_STAMP_H_
