// What marpc's own code relies on in Abseil's synchronization, in every build; in the tsan preset,
// that tests/tsan/absl_mutex.cc tells ThreadSanitizer of it: a missing annotation shows here as a
// race.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

constexpr int kRounds = 2000;

TEST(AbslMutex, OrdersTheWritesThatItGuards) {
  absl::Mutex mutex;
  int64_t sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        if (i % 2 == 0 && mutex.TryLock()) {
          ++sum;
          mutex.Unlock();
          continue;
        }
        absl::MutexLock lock(&mutex);
        ++sum;
      }
    });
  }
  for (int i = 0; i < kRounds; ++i) {
    absl::ReaderMutexLock lock(&mutex);
    EXPECT_LE(sum, 4 * kRounds);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 4 * kRounds);
}

// Two threads take turns, each waiting for its own in `wait`, which is called with the lock held.
template <typename Wait, typename Passed>
void TakeTurns(absl::Mutex& mutex, int& turn, Wait wait, Passed passed) {
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      absl::MutexLock lock(&mutex);
      wait(1);
      turn = 0;
      passed();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    absl::MutexLock lock(&mutex);
    turn = 1;
    passed();
    wait(0);
  }
  other.join();
}

TEST(AbslMutex, AwaitSeesWhatTheUnlockingThreadWrote) {
  absl::Mutex mutex;
  int turn = 0;
  TakeTurns(
      mutex, turn,
      [&](int mine) {
        auto is_mine = [&turn, mine] { return turn == mine; };
        ASSERT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&is_mine), absl::Seconds(30)));
      },
      [] {});
  EXPECT_EQ(turn, 0);
}

TEST(AbslMutex, CondVarSeesWhatTheSignallingThreadWrote) {
  absl::Mutex mutex;
  absl::CondVar changed;
  int turn = 0;
  TakeTurns(
      mutex, turn,
      [&](int mine) {
        const absl::Time deadline = absl::Now() + absl::Seconds(30);
        while (turn != mine) ASSERT_FALSE(changed.WaitWithDeadline(&mutex, deadline));
      },
      [&] { changed.SignalAll(); });
  EXPECT_EQ(turn, 0);
}

TEST(AbslNotification, WaiterSeesWhatWasWrittenBefore) {
  for (int i = 0; i < kRounds / 10; ++i) {
    auto notification = std::make_unique<absl::Notification>();
    int value = 0;
    std::thread writer([&] {
      value = i;
      notification->Notify();
    });
    ASSERT_TRUE(notification->WaitForNotificationWithTimeout(absl::Seconds(30)));
    EXPECT_EQ(value, i);
    EXPECT_TRUE(notification->HasBeenNotified());
    writer.join();
  }
}

}  // namespace
}  // namespace marpc
