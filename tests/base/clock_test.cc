#include "marpc/base/clock.h"

#include <limits>

#include "gtest/gtest.h"

namespace marpc {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(MonotonicTime, SumsSaturateInsteadOfWrapping) {
  const MonotonicTime now = MonotonicTime::FromNanos(1'000);
  EXPECT_EQ((now + absl::Nanoseconds(5)).nanos(), 1'005);
  EXPECT_EQ((now - absl::Nanoseconds(5)).nanos(), 995);
  EXPECT_TRUE((now + absl::InfiniteDuration()).is_infinite());
  EXPECT_TRUE((now + absl::Hours(24) * 365 * 1'000).is_infinite());
  EXPECT_TRUE((MonotonicTime::FromNanos(kMax - 1) + absl::Seconds(1)).is_infinite());
  EXPECT_EQ((MonotonicTime::FromNanos(kMin + 1) - absl::Seconds(1)).nanos(), kMin);
  EXPECT_EQ((now - absl::InfiniteDuration()).nanos(), kMin);
}

TEST(MonotonicTime, TheInfiniteFutureStaysInfinite) {
  const MonotonicTime never = MonotonicTime::InfiniteFuture();
  EXPECT_TRUE((never + absl::Seconds(1)).is_infinite());
  EXPECT_TRUE((never - absl::Seconds(1)).is_infinite());
  EXPECT_TRUE((never - absl::InfiniteDuration()).is_infinite());
  EXPECT_EQ(never - MonotonicTime::FromNanos(5), absl::InfiniteDuration());
  EXPECT_LT(MonotonicTime::FromNanos(kMax - 1), never);
}

TEST(MonotonicTime, DifferencesDoNotOverflow) {
  EXPECT_EQ(MonotonicTime::FromNanos(7) - MonotonicTime::FromNanos(10), absl::Nanoseconds(-3));
  EXPECT_EQ(MonotonicTime::FromNanos(kMax - 1) - MonotonicTime::FromNanos(kMin),
            absl::Nanoseconds(kMax - 1) - absl::Nanoseconds(kMin));
}

TEST(SimulatedClock, MovesOnlyWhenTold) {
  SimulatedClock clock(MonotonicTime::FromNanos(10));
  EXPECT_EQ(clock.Now().nanos(), 10);
  clock.Advance(absl::Nanoseconds(5));
  EXPECT_EQ(clock.Now().nanos(), 15);
  clock.Set(MonotonicTime::FromNanos(3));
  EXPECT_EQ(clock.Now().nanos(), 3);
}

TEST(RealClock, NeverGoesBack) {
  MonotonicTime last = Clock::Real().Now();
  for (int i = 0; i < 1'000; ++i) {
    const MonotonicTime now = Clock::Real().Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace marpc
