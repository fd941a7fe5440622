// The automatic limit against providers that exist in a formula alone.
#include "marpc/limit/gradient_limit.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace marpc {
namespace {

// Does `capacity` calls at a time, each in `work`; more of them wait for each other.
struct SimulatedProvider {
  int capacity = 16;
  absl::Duration work = absl::Milliseconds(10);
};

class GradientLimitTest : public ::testing::Test {
 protected:
  // `offered` callers that call again at once, as far as the limit lets them.
  void Run(GradientLimit& limit, const SimulatedProvider& provider, int offered,
           absl::Duration time) {
    const MonotonicTime end = clock_.Now() + time;
    lowest_ = highest_ = limit.limit();
    while (clock_.Now() < end) {
      const int under_way = std::min(offered, limit.limit());
      const absl::Duration latency =
          provider.work * std::max(1.0, static_cast<double>(under_way) / provider.capacity);
      clock_.Advance(latency);
      for (int i = 0; i < under_way; ++i) limit.OnCall(latency, under_way, clock_.Now());
      lowest_ = std::min(lowest_, limit.limit());
      highest_ = std::max(highest_, limit.limit());
    }
  }

  SimulatedClock clock_;
  int lowest_ = 0;
  int highest_ = 0;
};

TEST_F(GradientLimitTest, SettlesSomewhatAboveWhatTheProviderDoesAtATime) {
  GradientLimit limit(GradientSettings{});
  Run(limit, {.capacity = 16}, /*offered=*/500, absl::Seconds(25));
  Run(limit, {.capacity = 16}, 500, absl::Seconds(4));
  EXPECT_GE(lowest_, 16);
  EXPECT_LE(highest_, 16 * 2.5);
}

TEST_F(GradientLimitTest, MoreToleranceIsALongerQueue) {
  GradientSettings settings;
  settings.remeasure = absl::Hours(1);
  GradientLimit strict(settings);
  Run(strict, {.capacity = 16}, /*offered=*/500, absl::Seconds(20));
  settings.tolerance = 3;
  GradientLimit tolerant(settings);
  Run(tolerant, {.capacity = 16}, 500, absl::Seconds(20));
  EXPECT_GE(tolerant.limit(), strict.limit() + 16);
}

TEST_F(GradientLimitTest, RisesFromASmallBeginningWhereThereIsRoom) {
  GradientSettings settings;
  settings.initial = 4;
  GradientLimit limit(settings);
  Run(limit, {.capacity = 200}, /*offered=*/1000, absl::Seconds(25));
  EXPECT_GE(limit.limit(), 150);
}

TEST_F(GradientLimitTest, FallsWhenTheProviderCanDoLess) {
  GradientLimit limit(GradientSettings{});
  Run(limit, {.capacity = 100}, /*offered=*/500, absl::Seconds(20));
  const int before = limit.limit();
  ASSERT_GE(before, 100);
  Run(limit, {.capacity = 10}, 500, absl::Seconds(8));
  EXPECT_LE(limit.limit(), 30);
}

TEST_F(GradientLimitTest, StaysWithinItsBounds) {
  GradientSettings settings;
  settings.initial = 20;
  settings.min = 10;
  settings.max = 30;
  settings.remeasure = absl::Hours(1);  // ten at a time are no idle provider that does one
  GradientLimit limit(settings);
  Run(limit, {.capacity = 1000}, /*offered=*/500, absl::Seconds(20));
  EXPECT_EQ(limit.limit(), 30);
  Run(limit, {.capacity = 1}, 500, absl::Seconds(20));
  EXPECT_EQ(limit.limit(), 10);
}

TEST_F(GradientLimitTest, DoesNotRiseWhileMostOfItIsUnused) {
  GradientLimit limit(GradientSettings{});
  Run(limit, {.capacity = 16}, /*offered=*/5, absl::Minutes(2));
  EXPECT_EQ(limit.limit(), GradientSettings{}.initial);
}

// The work itself takes five times as long from now on. That is no queue, and costs calls only
// until the latency of an idle provider is measured anew.
TEST_F(GradientLimitTest, FindsOutThatTheWorkHasBecomeSlower) {
  GradientSettings settings;
  settings.remeasure = absl::Seconds(10);
  GradientLimit limit(settings);
  Run(limit, {.capacity = 50, .work = absl::Milliseconds(10)}, /*offered=*/500, absl::Seconds(8));
  const int before = limit.limit();
  ASSERT_GE(before, 50);
  Run(limit, {.capacity = 50, .work = absl::Milliseconds(50)}, 500, absl::Seconds(90));
  EXPECT_GE(highest_, 50);
  EXPECT_GE(limit.idle_latency(), absl::Milliseconds(50));
  EXPECT_LE(limit.idle_latency(), absl::Milliseconds(75));
}

// A measurement under a limit that is far too high sees a queue; the next ones see less of it.
TEST_F(GradientLimitTest, ABeginningFarTooHighIsCorrected) {
  GradientSettings settings;
  settings.initial = 1000;
  settings.remeasure = absl::Seconds(5);
  GradientLimit limit(settings);
  Run(limit, {.capacity = 10}, /*offered=*/2000, absl::Minutes(3));
  EXPECT_LE(limit.limit(), 40);
  EXPECT_GE(limit.limit(), 10);
}

TEST_F(GradientLimitTest, FewCallsAreNoWindow) {
  GradientLimit limit(GradientSettings{});
  for (int i = 0; i < 9; ++i) {
    clock_.Advance(absl::Seconds(1));
    limit.OnCall(absl::Milliseconds(1), 1, clock_.Now());
  }
  EXPECT_EQ(limit.idle_latency(), absl::ZeroDuration());
  for (int i = 0; i < 2; ++i) {
    clock_.Advance(absl::Seconds(1));
    limit.OnCall(absl::Milliseconds(1), 1, clock_.Now());
  }
  EXPECT_EQ(limit.idle_latency(), absl::Milliseconds(1));
}

}  // namespace
}  // namespace marpc
