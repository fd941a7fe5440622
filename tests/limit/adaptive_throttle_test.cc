#include "marpc/limit/adaptive_throttle.h"

#include "gtest/gtest.h"

namespace marpc {
namespace {

AdaptiveThrottleSettings Enabled(double multiplier = 2) {
  AdaptiveThrottleSettings settings;
  settings.enabled = true;
  settings.multiplier = multiplier;
  settings.max_refusal_percent = 100;
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

// How long after the recovery of a peer that has accepted nothing for long it gets every call.
absl::Duration WayBack(double max_refusal_percent) {
  SimulatedClock clock;
  SeededRandom random(7);
  AdaptiveThrottleSettings settings = Enabled();
  settings.max_refusal_percent = max_refusal_percent;
  AdaptiveThrottle throttle(settings);
  for (int i = 0; i < 6000; ++i) {
    clock.Advance(absl::Milliseconds(10));
    if (throttle.Admits(clock.Now(), random)) throttle.OnOutcome(false, clock.Now());
  }
  EXPECT_NEAR(throttle.RefusalProbability(clock.Now()), max_refusal_percent / 100, 0.001);
  absl::Duration recovery;
  while (throttle.RefusalProbability(clock.Now()) > 0 && recovery < absl::Minutes(10)) {
    clock.Advance(absl::Milliseconds(10));
    recovery += absl::Milliseconds(10);
    if (throttle.Admits(clock.Now(), random)) throttle.OnOutcome(true, clock.Now());
  }
  return recovery;
}

TEST(AdaptiveThrottleTest, ABoundOnRefusalsShortensTheWayBack) {
  constexpr absl::Duration kWindow = absl::Seconds(30);
  EXPECT_LT(WayBack(80), kWindow * 2);
  // Without one it grows e-fold in a window: from one call of 3000, ln(3000 / 2) windows.
  EXPECT_LT(WayBack(100), kWindow * 9);
  EXPECT_GT(WayBack(100), kWindow * 4);
}

TEST(AdaptiveThrottleTest, AtMostTheGivenPercentageIsRefused) {
  SimulatedClock clock;
  SeededRandom random(3);
  AdaptiveThrottle throttle({.enabled = true});
  int admitted = 0;
  for (int i = 0; i < 10'000; ++i) {
    clock.Advance(absl::Milliseconds(1));
    if (!throttle.Admits(clock.Now(), random)) continue;
    ++admitted;
    throttle.OnOutcome(false, clock.Now());
  }
  EXPECT_NEAR(admitted, 2000, 150);
}

}  // namespace
}  // namespace marpc
