// How many calls there were, and how many of them were bad.
#ifndef MARPC_CIRCUITBREAKER_CALL_COUNTS_H_
#define MARPC_CIRCUITBREAKER_CALL_COUNTS_H_

#include <cstdint>

namespace marpc {

struct CallCounts {
  int64_t calls = 0;
  int64_t failed = 0;
  int64_t slow = 0;  // failed or not

  CallCounts& operator+=(const CallCounts& other) {
    calls += other.calls;
    failed += other.failed;
    slow += other.slow;
    return *this;
  }
  friend bool operator==(const CallCounts&, const CallCounts&) = default;
};

// Has the share of bad calls, in percent, reached the threshold? Never before `minimum` calls.
inline bool RateReached(double percent, double threshold, int64_t calls, int64_t minimum) {
  return calls >= minimum && calls > 0 && percent >= threshold;
}
inline double PercentOf(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_CALL_COUNTS_H_
