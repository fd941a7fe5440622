#include "marpc/provider/executor.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

TEST(Executor, OneThreadRunsTasksInTheOrderOfSubmission) {
  std::vector<int> order;
  {
    Executor executor(1, 100);
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(executor.Submit([&order, i] { order.push_back(i); }));
  }
  ASSERT_EQ(order.size(), 50u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Executor, TasksRunAtOnceOnSeveralThreads) {
  Executor executor(3, 10);
  std::barrier all_there(3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(executor.Submit([&] { all_there.arrive_and_wait(); }));
  }
  executor.Shutdown();  // returns only if all three met
}

TEST(Executor, RefusesWhenAsManyTasksWaitAsMay) {
  absl::Notification busy;
  absl::Notification go;
  std::atomic<int> ran{0};
  Executor executor(1, 2);
  ASSERT_TRUE(executor.Submit([&] {
    busy.Notify();
    go.WaitForNotification();
  }));
  busy.WaitForNotification();
  EXPECT_TRUE(executor.Submit([&] { ++ran; }));
  EXPECT_TRUE(executor.Submit([&] { ++ran; }));
  EXPECT_FALSE(executor.Submit([&] { ran += 100; }));
  go.Notify();
  executor.Shutdown();
  EXPECT_EQ(ran, 2);
}

TEST(Executor, ShutdownRunsWhatWaitsAndThenRefuses) {
  absl::Notification busy;
  absl::Notification go;
  std::atomic<int> ran{0};
  Executor executor(1, 10);
  ASSERT_TRUE(executor.Submit([&] {
    busy.Notify();
    go.WaitForNotification();
  }));
  busy.WaitForNotification();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(executor.Submit([&] { ++ran; }));
  go.Notify();
  executor.Shutdown();
  EXPECT_EQ(ran, 5);
  EXPECT_FALSE(executor.Submit([&] { ++ran; }));
  executor.Shutdown();
  EXPECT_EQ(ran, 5);
}

}  // namespace
}  // namespace marpc
