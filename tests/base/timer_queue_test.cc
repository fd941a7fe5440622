#include "marpc/base/timer_queue.h"

#include <atomic>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

const MonotonicTime kFarAway = MonotonicTime::InfiniteFuture() - absl::Hours(1);

MonotonicTime In(absl::Duration delay) { return Clock::Real().Now() + delay; }

TEST(TimerQueueTest, RunsInTheOrderOfTimeWhateverTheOrderOfSetting) {
  TimerQueue timers;
  absl::Notification hold;
  absl::Notification held;
  timers.At(In(absl::ZeroDuration()), [&] {
    held.Notify();
    hold.WaitForNotification();
  });
  held.WaitForNotification();
  const MonotonicTime base = Clock::Real().Now();
  std::vector<int> order;
  absl::BlockingCounter all(4);
  for (const int n : {3, 1, 2, 1}) {
    timers.At(base + absl::Microseconds(n), [&, n] {
      order.push_back(n);
      all.DecrementCount();
    });
  }
  hold.Notify();
  all.Wait();
  EXPECT_THAT(order, ::testing::ElementsAre(1, 1, 2, 3));
}

TEST(TimerQueueTest, RunsNothingBeforeItsTime) {
  TimerQueue timers;
  absl::Notification done;
  const MonotonicTime when = In(absl::Milliseconds(5));
  MonotonicTime ran;
  timers.At(when, [&] {
    ran = Clock::Real().Now();
    done.Notify();
  });
  done.WaitForNotification();
  EXPECT_GE(ran, when);
}

TEST(TimerQueueTest, AnEarlierTimerOvertakesTheOneThatIsWaitedFor) {
  TimerQueue timers;
  timers.At(kFarAway, [] { ADD_FAILURE(); });
  absl::Notification done;
  timers.At(In(absl::Milliseconds(1)), [&] { done.Notify(); });
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST(TimerQueueTest, ACancelledTimerDoesNotRunAndLetsGoOfWhatItHolds) {
  TimerQueue timers;
  const auto held = std::make_shared<int>(1);
  const TimerQueue::TimerId id = timers.At(kFarAway, [held] { ADD_FAILURE(); });
  EXPECT_EQ(held.use_count(), 2);
  EXPECT_TRUE(timers.Cancel(id));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(timers.Cancel(id));
  EXPECT_FALSE(timers.Cancel(0));
}

TEST(TimerQueueTest, ATimerThatHasRunCannotBeTakenBack) {
  TimerQueue timers;
  absl::Notification done;
  const TimerQueue::TimerId id = timers.At(In(absl::ZeroDuration()), [&] { done.Notify(); });
  done.WaitForNotification();
  EXPECT_FALSE(timers.Cancel(id));
}

TEST(TimerQueueTest, StopDropsWhatHasNotRunAndLaterTimersToo) {
  TimerQueue timers;
  const auto held = std::make_shared<int>(1);
  timers.At(kFarAway, [held] { ADD_FAILURE(); });
  timers.Stop();
  EXPECT_EQ(held.use_count(), 1);
  timers.At(In(absl::ZeroDuration()), [held] { ADD_FAILURE(); });
  EXPECT_EQ(held.use_count(), 1);
  timers.Stop();
}

TEST(TimerQueueTest, StopWaitsForTheTimerThatRuns) {
  TimerQueue timers;
  absl::Notification running;
  std::atomic<bool> ended{false};
  timers.At(In(absl::ZeroDuration()), [&] {
    running.Notify();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    ended.store(true);
  });
  running.WaitForNotification();
  timers.Stop();
  EXPECT_TRUE(ended.load());
}

TEST(TimerQueueTest, ATimerMaySetAndCancelOthers) {
  TimerQueue timers;
  absl::Notification done;
  timers.At(In(absl::ZeroDuration()), [&] {
    EXPECT_TRUE(timers.Cancel(timers.At(kFarAway, [] { ADD_FAILURE(); })));
    timers.At(In(absl::ZeroDuration()), [&] { done.Notify(); });
  });
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST(TimerQueueTest, AQueueMayBeDestroyedByItsOwnTimer) {
  auto timers = std::make_unique<TimerQueue>();
  absl::Notification done;
  TimerQueue& queue = *timers;
  queue.At(In(absl::ZeroDuration()), [&done, timers = std::move(timers)]() mutable {
    timers = nullptr;
    done.Notify();
  });
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST(TimerQueueTest, ThreadsSetAndCancelAtOnce) {
  TimerQueue timers;
  std::atomic<int> ran{0};
  std::atomic<int> cancelled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const auto id = timers.At(In(absl::Microseconds(i % 50)), [&] { ran.fetch_add(1); });
        if (i % 2 == 0 && timers.Cancel(id)) cancelled.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  absl::Notification last;
  timers.At(In(absl::Milliseconds(1)), [&] { last.Notify(); });
  last.WaitForNotification();
  EXPECT_EQ(ran.load() + cancelled.load(), 2000);
}

TEST(TimerQueueTest, AfterHandingOverATimerMayWaitForOthers) {
  TimerQueue timers;
  absl::Notification other;
  absl::Notification done;
  timers.At(In(absl::ZeroDuration()), [&] {
    timers.HandOver();
    timers.At(In(absl::ZeroDuration()), [&] { other.Notify(); });
    EXPECT_TRUE(other.WaitForNotificationWithTimeout(absl::Seconds(10)));
    timers.HandOver();  // no longer the thread that runs timers: nothing
    timers.Stop();
    done.Notify();
  });
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

// Refuses the first `refusals` threads.
TimerQueue::ThreadStarter StarterThatRefuses(int refusals) {
  return [refusals](std::function<void()> run) mutable {
    if (refusals-- > 0) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
    return std::thread(std::move(run));
  };
}

TEST(TimerQueueTest, WithoutAThreadStartSaysSoAndATimerIsDropped) {
  TimerQueue timers(Clock::Real(), StarterThatRefuses(2));
  EXPECT_TRUE(absl::IsResourceExhausted(timers.Start()));
  auto held = std::make_shared<int>();
  const std::weak_ptr<int> watched = held;
  const auto id = timers.At(In(absl::ZeroDuration()), [held = std::move(held)] { ADD_FAILURE(); });
  EXPECT_EQ(id, 0);
  EXPECT_TRUE(watched.expired());
  // The third time there is one, and the dropped timer does not come back.
  EXPECT_TRUE(timers.Start().ok());
  absl::Notification done;
  timers.At(In(absl::ZeroDuration()), [&] { done.Notify(); });
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

}  // namespace
}  // namespace marpc
