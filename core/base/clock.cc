#include "marpc/base/clock.h"

#include <ctime>

namespace marpc {
namespace {

class SteadyClock final : public Clock {
 public:
  MonotonicTime Now() const override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return MonotonicTime::FromNanos(int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
  }
};

}  // namespace

MonotonicTime operator+(MonotonicTime t, absl::Duration d) {
  if (t.is_infinite() || d == absl::InfiniteDuration()) return MonotonicTime::InfiniteFuture();
  if (d == -absl::InfiniteDuration()) {
    return MonotonicTime::FromNanos(std::numeric_limits<int64_t>::min());
  }
  int64_t sum;
  if (__builtin_add_overflow(t.nanos(), absl::ToInt64Nanoseconds(d), &sum)) {
    return d > absl::ZeroDuration() ? MonotonicTime::InfiniteFuture()
                                    : MonotonicTime::FromNanos(std::numeric_limits<int64_t>::min());
  }
  return MonotonicTime::FromNanos(sum);
}

const Clock& Clock::Real() {
  // Never destroyed: threads of a static consumer read it until that consumer's own end.
  static const Clock& clock = *new SteadyClock;
  return clock;
}

}  // namespace marpc
