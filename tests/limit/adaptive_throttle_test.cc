#include "marpc/limit/adaptive_throttle.h"

#include "gtest/gtest.h"

namespace marpc {
namespace {

AdaptiveThrottleSettings Enabled(double multiplier = 2) {
  AdaptiveThrottleSettings settings;
  settings.enabled = true;
  settings.multiplier = multiplier;
  return settings;
}

TEST(AdaptiveThrottleTest, RefusesNothingWhileThePeerAccepts) {
  SimulatedClock clock;
  SeededRandom random(1);
  AdaptiveThrottle throttle(Enabled());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(throttle.Admits(clock.Now(), random));
    // Every second call is refused: still within the multiplier.
    throttle.OnOutcome(/*accepted=*/i % 2 == 0, clock.Now());
  }
}

TEST(AdaptiveThrottleTest, RefusesByTheFormula) {
  SimulatedClock clock;
  AdaptiveThrottle throttle(Enabled());
  for (int i = 0; i < 99; ++i) throttle.OnOutcome(/*accepted=*/i < 20, clock.Now());
  EXPECT_DOUBLE_EQ(throttle.RefusalProbability(clock.Now()), (99 - 2 * 20) / 100.0);
  clock.Advance(absl::Seconds(31));
  EXPECT_EQ(throttle.RefusalProbability(clock.Now()), 0) << "what is older than the window counts";
}

TEST(AdaptiveThrottleTest, CallsThatAreRefusedHereAreRequestsToo) {
  SimulatedClock clock;
  SeededRandom random(1);
  AdaptiveThrottle throttle(Enabled());
  for (int i = 0; i < 99; ++i) throttle.OnOutcome(/*accepted=*/false, clock.Now());
  EXPECT_DOUBLE_EQ(throttle.RefusalProbability(clock.Now()), 0.99);
  while (throttle.Admits(clock.Now(), random)) {
  }
  EXPECT_DOUBLE_EQ(throttle.RefusalProbability(clock.Now()), 100 / 101.0);
}

// What reaches a peer that takes 10 calls a second of 200 offered ones.
double SentPerSecond(double multiplier) {
  SimulatedClock clock;
  SeededRandom random(7);
  AdaptiveThrottle throttle(Enabled(multiplier));
  int sent = 0;
  constexpr int kSeconds = 120;
  for (int second = 0; second < kSeconds; ++second) {
    int room = 10;
    for (int i = 0; i < 200; ++i) {
      clock.Advance(absl::Milliseconds(5));
      if (!throttle.Admits(clock.Now(), random)) continue;
      if (second >= 60) ++sent;
      throttle.OnOutcome(room-- > 0, clock.Now());
    }
  }
  return sent / 60.0;
}

TEST(AdaptiveThrottleTest, ThePeerSeesAboutTheMultiplierTimesWhatItAccepts) {
  EXPECT_NEAR(SentPerSecond(2), 20, 3);
  EXPECT_NEAR(SentPerSecond(1.1), 11, 3);
}

// What gets through grows with what is accepted: e-fold in a window.
TEST(AdaptiveThrottleTest, LetsAllThroughAgainWithinAFewWindowsOfThePeersRecovery) {
  SimulatedClock clock;
  SeededRandom random(7);
  AdaptiveThrottle throttle(Enabled());
  for (int i = 0; i < 2000; ++i) {
    clock.Advance(absl::Milliseconds(10));
    if (throttle.Admits(clock.Now(), random)) throttle.OnOutcome(false, clock.Now());
  }
  ASSERT_GT(throttle.RefusalProbability(clock.Now()), 0.9);
  absl::Duration recovery;
  while (throttle.RefusalProbability(clock.Now()) > 0 && recovery < absl::Minutes(10)) {
    clock.Advance(absl::Milliseconds(10));
    recovery += absl::Milliseconds(10);
    if (throttle.Admits(clock.Now(), random)) throttle.OnOutcome(true, clock.Now());
  }
  // 3000 calls in a window: ln(3000 / 2) windows, with some luck.
  EXPECT_LT(recovery, absl::Seconds(30) * 9);
  EXPECT_GT(recovery, absl::Seconds(30));
}

}  // namespace
}  // namespace marpc
