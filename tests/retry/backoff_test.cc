#include "marpc/retry/backoff.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace marpc {
namespace {

class FixedDraw final : public RandomSource {
 public:
  explicit FixedDraw(double draw) : draw_(draw) {}
  double Uniform() override { return draw_; }
  uint64_t Below(uint64_t) override { return 0; }

 private:
  const double draw_;
};

BackoffSettings Settings(double jitter = 0) {
  BackoffSettings settings;
  settings.initial = absl::Milliseconds(100);
  settings.max = absl::Seconds(1);
  settings.factor = 2;
  settings.jitter = jitter;
  return settings;
}

absl::Duration Delay(const BackoffSettings& settings, int retry, double draw = 0.5) {
  FixedDraw random(draw);
  return absl::Trunc(BackoffDelay(settings, retry, random) + absl::Nanoseconds(500),
                     absl::Microseconds(1));
}

TEST(BackoffTest, GrowsByItsFactorUpToItsMaximum) {
  EXPECT_EQ(Delay(Settings(), 1), absl::Milliseconds(100));
  EXPECT_EQ(Delay(Settings(), 2), absl::Milliseconds(200));
  EXPECT_EQ(Delay(Settings(), 4), absl::Milliseconds(800));
  EXPECT_EQ(Delay(Settings(), 5), absl::Seconds(1));
  EXPECT_EQ(Delay(Settings(), 1'000'000), absl::Seconds(1)) << "where the power is infinite";
}

TEST(BackoffTest, IsNoWaitByDefault) { EXPECT_EQ(Delay({}, 3), absl::ZeroDuration()); }

TEST(BackoffTest, JitterMovesItByItsShareBothWaysAndNeverAboveTheMaximum) {
  EXPECT_EQ(Delay(Settings(0.2), 1, 0.0), absl::Milliseconds(80));
  EXPECT_EQ(Delay(Settings(0.2), 1, 0.5), absl::Milliseconds(100));
  EXPECT_EQ(Delay(Settings(0.2), 1, 0.75), absl::Milliseconds(110));
  EXPECT_EQ(Delay(Settings(0.2), 9, 0.999), absl::Seconds(1));
  EXPECT_EQ(Delay(Settings(1.0), 1, 0.0), absl::ZeroDuration());
}

TEST(BackoffTest, DrawsFillTheWholeRange) {
  SeededRandom random(3);
  absl::Duration least = absl::InfiniteDuration();
  absl::Duration most = absl::ZeroDuration();
  for (int i = 0; i < 10'000; ++i) {
    const absl::Duration delay = BackoffDelay(Settings(0.5), 2, random);
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_GE(least, absl::Milliseconds(100));
  EXPECT_LT(least, absl::Milliseconds(105));
  EXPECT_LE(most, absl::Milliseconds(300));
  EXPECT_GT(most, absl::Milliseconds(295));
}

TEST(BackoffTest, AnInitialWaitAboveTheMaximumIsTheMaximum) {
  BackoffSettings settings = Settings();
  settings.initial = absl::Seconds(5);
  EXPECT_EQ(Delay(settings, 1), absl::Seconds(1));
}

}  // namespace
}  // namespace marpc
