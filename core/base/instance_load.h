// What a consumer has under way at one instance, and how quickly the instance answers.
#ifndef MARPC_BASE_INSTANCE_LOAD_H_
#define MARPC_BASE_INSTANCE_LOAD_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>

#include "absl/time/time.h"
#include "marpc/base/clock.h"

namespace marpc {

// Kept where the balancer goes by it; all 0 where it does not. Thread-safe, without a lock: of two
// latencies that are told at once, one may be lost. On a cache line of its own, since every attempt
// writes here.
class alignas(64) InstanceLoad {
 public:
  void Begin() { in_flight_.fetch_add(1, std::memory_order_relaxed); }
  void End() { in_flight_.fetch_sub(1, std::memory_order_relaxed); }
  // Attempts that have begun and not ended.
  int in_flight() const { return in_flight_.load(std::memory_order_relaxed); }

  // The peak-sensitive moving average of latencies in nanoseconds: what is slower than the average
  // becomes it at once, what is quicker pulls it down as the time passes, and while nothing is
  // heard it fades. `decay` is the time in which the past loses 63 % of its weight. 0: nothing was
  // ever heard.
  double LatencyNanos(MonotonicTime now, double decay_nanos) const {
    const Sample sample = Unpack(latency_.load(std::memory_order_relaxed));
    if (sample.nanos <= 0) return 0;
    return sample.nanos * std::exp(-ElapsedNanos(sample, now) / decay_nanos);
  }

  // An answer took that long.
  void OnAnswer(absl::Duration latency, MonotonicTime now, double decay_nanos) {
    const float nanos = ToNanos(latency);
    const float before = answers_nanos_.load(std::memory_order_relaxed);
    answers_nanos_.store(before == 0 ? nanos : before + (nanos - before) / 16,
                         std::memory_order_relaxed);
    Observe(nanos, now, decay_nanos);
  }
  // It took that long to fail. Counts as `factor` times what its answers take, since a failure that
  // is quick must not draw more calls.
  void OnFailure(absl::Duration latency, double factor, MonotonicTime now, double decay_nanos) {
    const float answers = answers_nanos_.load(std::memory_order_relaxed);
    const auto penalty = static_cast<float>(factor * (answers > 0 ? answers : kUnheardAnswerNanos));
    Observe(std::max(ToNanos(latency), penalty), now, decay_nanos);
  }
  // Given up after that long: an answer would have taken longer.
  void OnGivenUp(absl::Duration latency, MonotonicTime now, double decay_nanos) {
    const float nanos = ToNanos(latency);
    if (nanos > LatencyNanos(now, decay_nanos)) Observe(nanos, now, decay_nanos);
  }

 private:
  // What is assumed of the answers of an instance that has given none.
  static constexpr double kUnheardAnswerNanos = 100e6;

  // Packed into one word, so that the two are never of different moments.
  struct Sample {
    float nanos;
    uint32_t at;  // in units of 2^20 ns, about a millisecond
  };
  static uint32_t UnitsOf(MonotonicTime t) { return static_cast<uint32_t>(t.nanos() >> 20); }
  static uint64_t Pack(Sample sample) {
    return uint64_t{std::bit_cast<uint32_t>(sample.nanos)} << 32 | sample.at;
  }
  static Sample Unpack(uint64_t word) {
    return {std::bit_cast<float>(static_cast<uint32_t>(word >> 32)), static_cast<uint32_t>(word)};
  }
  static float ToNanos(absl::Duration latency) {
    return std::max(1.0F, static_cast<float>(absl::ToInt64Nanoseconds(latency)));
  }
  // Threads read the clock at moments of their own: a time before the sample's is the sample's.
  static double ElapsedNanos(const Sample& sample, MonotonicTime now) {
    const auto units = static_cast<int32_t>(UnitsOf(now) - sample.at);
    return units <= 0 ? 0 : static_cast<double>(units) * (1 << 20);
  }

  void Observe(float nanos, MonotonicTime now, double decay_nanos) {
    const Sample before = Unpack(latency_.load(std::memory_order_relaxed));
    Sample after{nanos, UnitsOf(now)};
    if (before.nanos > nanos) {
      const double elapsed = ElapsedNanos(before, now);
      if (elapsed == 0) return;  // of the same moment, the slowest counts
      const double kept = std::exp(-elapsed / decay_nanos);
      after.nanos = static_cast<float>(before.nanos * kept + nanos * (1 - kept));
    }
    latency_.store(Pack(after), std::memory_order_relaxed);
  }

  std::atomic<int> in_flight_{0};
  std::atomic<float> answers_nanos_{0};
  std::atomic<uint64_t> latency_{0};
};

}  // namespace marpc

#endif  // MARPC_BASE_INSTANCE_LOAD_H_
