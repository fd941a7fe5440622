#include "marpc/retry/sleeper.h"

#include "gtest/gtest.h"
#include "tests/support/shifted_wall_clock.h"

namespace marpc {
namespace {

TEST(SleeperTest, AShiftOfTheWallClockProlongsNoSleep) {
  const testing::ShiftedWallClock shifted;
  CancelSignal cancel;
  const MonotonicTime until = Clock::Real().Now() + absl::Milliseconds(5);
  Sleeper::Real().SleepUntil(until, &cancel);
  EXPECT_GE(Clock::Real().Now(), until);
  Sleeper::Real().SleepUntil(until + absl::Milliseconds(5), nullptr);
  EXPECT_GE(Clock::Real().Now(), until + absl::Milliseconds(5));
}

TEST(SleeperTest, ACancellationEndsASleep) {
  CancelSignal cancel;
  cancel.Cancel();
  Sleeper::Real().SleepUntil(MonotonicTime::InfiniteFuture(), &cancel);
}

}  // namespace
}  // namespace marpc
