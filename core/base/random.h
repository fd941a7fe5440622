// Chance as marpc's policies see it: injected, so that a test with a fixed seed sees the same draws
// every time.
#ifndef MARPC_BASE_RANDOM_H_
#define MARPC_BASE_RANDOM_H_

#include <cstdint>

namespace marpc {

class RandomSource {
 public:
  virtual ~RandomSource() = default;

  // A draw from [0, 1).
  virtual double Uniform() = 0;
  // A draw from 0 .. bound-1; `bound` must be positive.
  virtual uint64_t Below(uint64_t bound) = 0;

  // The calling thread's own generator, seeded from the system. Not to be handed to another thread.
  static RandomSource& OfThisThread();
};

// splitmix64: small, quick, good enough to spread load; not for secrets. Not thread-safe.
class SeededRandom final : public RandomSource {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double Uniform() override { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  uint64_t Below(uint64_t bound) override {
    // Multiply-shift: without a modulo's bias towards small values for every bound that matters
    // here.
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace marpc

#endif  // MARPC_BASE_RANDOM_H_
