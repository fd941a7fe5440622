#include "marpc/base/wake_up.h"

#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "marpc/base/timer_queue.h"
#include "tests/support/shifted_wall_clock.h"

namespace marpc {
namespace {

TEST(WakeUpTest, EndsWhenItIsWokenAndStaysAwake) {
  WakeUp wake_up;
  std::thread waker([&] { wake_up.Wake(); });
  EXPECT_TRUE(wake_up.WaitFor(absl::InfiniteDuration()));
  EXPECT_TRUE(wake_up.WaitFor(absl::ZeroDuration()));
  waker.join();
}

TEST(WakeUpTest, TimeEndsItToo) {
  WakeUp wake_up;
  EXPECT_FALSE(wake_up.WaitFor(absl::Milliseconds(1)));
  EXPECT_FALSE(wake_up.WaitFor(-absl::InfiniteDuration()));
}

TEST(WallClockTest, AShiftOfItProlongsNoWait) {
  const absl::Time before = absl::Now();
  const testing::ShiftedWallClock shifted;
  ASSERT_GT(absl::Now(), before + absl::Minutes(59)) << "the shift does not act";
  WakeUp wake_up;
  EXPECT_FALSE(wake_up.WaitFor(absl::Milliseconds(1)));
}

TEST(WallClockTest, AShiftOfItDelaysNoTimer) {
  TimerQueue timers;
  const testing::ShiftedWallClock shifted;
  absl::Notification fired;
  timers.At(Clock::Real().Now() + absl::Milliseconds(20), [&] { fired.Notify(); });
  fired.WaitForNotification();
}

}  // namespace
}  // namespace marpc
