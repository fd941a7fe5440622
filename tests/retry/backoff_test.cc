#include "marpc/retry/backoff.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr absl::Duration kMs = absl::Milliseconds(1);

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
  settings.initial = 100 * kMs;
  settings.max = absl::Seconds(1);
  settings.factor = 2;
  settings.jitter = jitter;
  return settings;
}

absl::Duration Rounded(absl::Duration wait) {
  return absl::Trunc(wait + absl::Nanoseconds(500), absl::Microseconds(1));
}

absl::Duration Delay(const BackoffSettings& settings, int retry, double draw = 0.5) {
  FixedDraw random(draw);
  BackoffMemory memory;
  return Rounded(BackoffDelay(settings, retry, random, memory));
}

// The waits of one session, in ms.
std::vector<double> Waits(const Backoff& backoff, int retries, double draw = 0.5) {
  FixedDraw random(draw);
  BackoffMemory memory;
  std::vector<double> waits;
  for (int retry = 1; retry <= retries; ++retry) {
    waits.push_back(absl::ToDoubleMilliseconds(Rounded(backoff.Delay(retry, random, memory))));
  }
  return waits;
}

TEST(BackoffTest, GrowsByItsFactorUpToItsMaximum) {
  EXPECT_EQ(Delay(Settings(), 1), 100 * kMs);
  EXPECT_EQ(Delay(Settings(), 2), 200 * kMs);
  EXPECT_EQ(Delay(Settings(), 4), 800 * kMs);
  EXPECT_EQ(Delay(Settings(), 5), absl::Seconds(1));
  EXPECT_EQ(Delay(Settings(), 1'000'000), absl::Seconds(1)) << "where the power is infinite";
}

TEST(BackoffTest, IsNoWaitByDefault) { EXPECT_EQ(Delay({}, 3), absl::ZeroDuration()); }

TEST(BackoffTest, JitterMovesItByItsShareBothWaysAndNeverAboveTheMaximum) {
  EXPECT_EQ(Delay(Settings(0.2), 1, 0.0), 80 * kMs);
  EXPECT_EQ(Delay(Settings(0.2), 1, 0.5), 100 * kMs);
  EXPECT_EQ(Delay(Settings(0.2), 1, 0.75), 110 * kMs);
  EXPECT_EQ(Delay(Settings(0.2), 9, 0.999), absl::Seconds(1));
  EXPECT_EQ(Delay(Settings(0.2), 9, 0.0), 800 * kMs);
  EXPECT_EQ(Delay(Settings(1.0), 1, 0.0), absl::ZeroDuration());
}

TEST(BackoffTest, JitterMayBeAllowedToExceedTheMaximum) {
  BackoffSettings settings = Settings(0.2);
  settings.jitter_may_exceed_max = true;
  EXPECT_EQ(Delay(settings, 9, 1.0), 1200 * kMs);
}

TEST(BackoffTest, DrawsFillTheWholeRange) {
  SeededRandom random(3);
  BackoffMemory memory;
  absl::Duration least = absl::InfiniteDuration();
  absl::Duration most = absl::ZeroDuration();
  for (int i = 0; i < 10'000; ++i) {
    const absl::Duration delay = BackoffDelay(Settings(0.5), 2, random, memory);
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_GE(least, 100 * kMs);
  EXPECT_LT(least, 105 * kMs);
  EXPECT_LE(most, 300 * kMs);
  EXPECT_GT(most, 295 * kMs);
}

TEST(BackoffTest, AnInitialWaitAboveTheMaximumIsTheMaximum) {
  BackoffSettings settings = Settings();
  settings.initial = absl::Seconds(5);
  EXPECT_EQ(Delay(settings, 1), absl::Seconds(1));
}

TEST(BackoffTest, EachStrategyFollowsItsFormula) {
  const absl::Duration base = 100 * kMs;
  const absl::Duration max = absl::Seconds(1);
  EXPECT_THAT(Waits(Backoff::None(), 2), ElementsAre(0, 0));
  EXPECT_THAT(Waits(Backoff::Fixed(base), 3), ElementsAre(100, 100, 100));
  EXPECT_THAT(Waits(Backoff::Linear(base, 250 * kMs), 4), ElementsAre(100, 200, 250, 250));
  EXPECT_THAT(Waits(Backoff::Exponential(base, max, 3), 4), ElementsAre(100, 300, 900, 1000));
  EXPECT_THAT(Waits(Backoff::Fibonacci(base, max), 7),
              ElementsAre(100, 200, 300, 500, 800, 1000, 1000));
  EXPECT_THAT(Waits(Backoff::List({kMs, 200 * kMs}), 4), ElementsAre(1, 200, 200, 200));
}

TEST(BackoffTest, ExponentialRandomDrawsBetweenAnIntervalAndTheNext) {
  const Backoff backoff = Backoff::ExponentialRandom(100 * kMs, absl::Seconds(1));
  EXPECT_THAT(Waits(backoff, 5, 0.0), ElementsAre(100, 200, 400, 800, 1000));
  EXPECT_THAT(Waits(backoff, 4, 0.5), ElementsAre(150, 300, 600, 1000));
}

TEST(BackoffTest, UniformDrawsBetweenItsBounds) {
  const Backoff backoff = Backoff::Uniform(500 * kMs, 1500 * kMs);
  EXPECT_THAT(Waits(backoff, 2, 0.0), ElementsAre(500, 500));
  EXPECT_THAT(Waits(backoff, 2, 0.25), ElementsAre(750, 750));
  EXPECT_THAT(Waits(backoff, 1, 1.0), ElementsAre(1500));
}

TEST(BackoffTest, DecorrelatedStartsAtItsBaseAndDrawsUpToThreeTimesTheWaitBefore) {
  const Backoff backoff = Backoff::Decorrelated(100 * kMs, absl::Seconds(2));
  EXPECT_THAT(Waits(backoff, 3, 0.0), ElementsAre(100, 100, 100));
  EXPECT_THAT(Waits(backoff, 5, 1.0), ElementsAre(100, 300, 900, 2000, 2000));
  EXPECT_THAT(Waits(backoff, 3, 0.5), ElementsAre(100, 200, 350));
}

TEST(BackoffTest, TheMemoryOfOneSessionDoesNotTouchAnother) {
  const Backoff backoff = Backoff::Decorrelated(100 * kMs, absl::Seconds(2));
  FixedDraw random(1.0);
  BackoffMemory one;
  BackoffMemory other;
  for (int retry = 1; retry <= 3; ++retry) backoff.Delay(retry, random, one);
  EXPECT_EQ(Rounded(backoff.Delay(1, random, other)), 100 * kMs);
  EXPECT_EQ(Rounded(backoff.Delay(2, random, other)), 300 * kMs);
}

TEST(BackoffTest, WhatDrawsItselfHasNoJitterUnlessAskedTo) {
  BackoffSettings settings;
  settings.strategy = BackoffStrategy::kUniform;
  settings.min = 500 * kMs;
  EXPECT_EQ(Delay(settings, 1, 0.0), 500 * kMs);
  settings.jitter = 0.2;
  EXPECT_EQ(Delay(settings, 1, 0.0), 400 * kMs);
  settings = Settings();
  settings.jitter.reset();
  EXPECT_EQ(Delay(settings, 1, 0.0), 80 * kMs) << "0.2 by default";
}

TEST(BackoffTest, IsANumberBetweenZeroAndTheMaximumAtEveryRetry) {
  const int retries[] = {-1,   0,    1,    2,       31,
                         32,   63,   64,   93,      94,
                         1024, 1025, 1477, 100'000, std::numeric_limits<int>::max()};
  const absl::Duration max = absl::Hours(1);
  for (const auto& [name, strategy] : kBackoffStrategies) {
    for (const absl::Duration initial : {absl::ZeroDuration(), absl::Nanoseconds(1), kMs, max}) {
      for (const double draw : {0.0, 0.5, 1.0}) {
        BackoffSettings settings;
        settings.strategy = strategy;
        settings.initial = initial;
        settings.max = max;
        settings.jitter = 1.0;
        settings.delays = {initial, max};
        FixedDraw random(draw);
        BackoffMemory memory;
        for (const int retry : retries) {
          const absl::Duration wait = BackoffDelay(settings, retry, random, memory);
          EXPECT_GE(wait, absl::ZeroDuration()) << name << " " << retry;
          // A list has no maximum but its own.
          if (strategy == BackoffStrategy::kList) continue;
          EXPECT_LE(wait, max) << name << " " << retry;
        }
      }
    }
  }
}

TEST(BackoffTest, WithoutAMaximumItEndsInAnInfiniteWait) {
  const absl::Duration no_max = absl::InfiniteDuration();
  EXPECT_THAT(Waits(Backoff::Fibonacci(kMs, no_max), 2), ElementsAre(1, 2));
  FixedDraw random(0.5);
  BackoffMemory memory;
  for (const Backoff& backoff :
       {Backoff::Fibonacci(kMs, no_max), Backoff::Exponential(kMs, no_max)}) {
    EXPECT_EQ(backoff.Delay(100'000, random, memory), no_max);
  }
}

TEST(BackoffTest, ValidateNamesWhatCannotBe) {
  const auto fault = [](const Backoff& backoff) {
    return std::string(backoff.Validate().message());
  };
  const absl::Duration second = absl::Seconds(1);
  EXPECT_THAT(fault(Backoff::Fixed(-kMs)), HasSubstr("negative"));
  EXPECT_THAT(fault(Backoff::Exponential(second, kMs)), HasSubstr("(1ms) is below its first (1s)"));
  EXPECT_THAT(fault(Backoff::Exponential(kMs, second, 0)), HasSubstr("above 0, not 0"));
  EXPECT_TRUE(Backoff::Exponential(kMs, second, 0.5).Validate().ok()) << "it shrinks";
  EXPECT_THAT(fault(Backoff::Uniform(second, kMs)), HasSubstr("min <= max"));
  EXPECT_THAT(fault(Backoff::Uniform(-kMs, second)), HasSubstr("0 <= min"));
  EXPECT_THAT(fault(Backoff::List({})), HasSubstr("at least one delay"));
  EXPECT_THAT(fault(Backoff::List({kMs, -kMs})), HasSubstr("-1ms"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double jitter : {-0.1, 1.1, nan}) {
    EXPECT_THAT(fault(Backoff::Fixed(kMs).WithJitter(jitter)), HasSubstr("from 0 to 1"));
  }
  EXPECT_TRUE(Backoff().Validate().ok());
  EXPECT_TRUE(Backoff(BackoffSettings()).Validate().ok());
  EXPECT_TRUE(Backoff::Fixed(absl::ZeroDuration()).Validate().ok());
  EXPECT_TRUE(Backoff::Uniform(kMs, kMs).WithJitter(1).Validate().ok());
}

}  // namespace
}  // namespace marpc
