#include "marpc/limit/bulkhead.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "marpc/base/wake_up.h"

namespace marpc {
namespace {

TEST(BulkheadTest, AdmitsAsManyAsItHasPlacesFor) {
  Bulkhead bulkhead(2, 10);
  EXPECT_TRUE(bulkhead.TryEnter());
  EXPECT_TRUE(bulkhead.TryEnter());
  EXPECT_FALSE(bulkhead.TryEnter());
  bulkhead.Leave();
  EXPECT_TRUE(bulkhead.TryEnter());
  EXPECT_EQ(bulkhead.under_way(), 2);
}

TEST(BulkheadTest, WhoeverWaitsGetsThePlaceInTheOrderOfComing) {
  Bulkhead bulkhead(1, 10);
  ASSERT_TRUE(bulkhead.TryEnter());
  const auto first = bulkhead.Queue();
  const auto second = bulkhead.Queue();
  EXPECT_FALSE(first->turn()->settled());
  bulkhead.Leave();
  EXPECT_TRUE(first->turn()->settled());
  EXPECT_FALSE(second->turn()->settled());
  EXPECT_FALSE(bulkhead.TryEnter()) << "overtakes one that waits";
  bulkhead.Leave();
  EXPECT_TRUE(second->turn()->settled());
  EXPECT_EQ(bulkhead.under_way(), 1);
  EXPECT_EQ(bulkhead.waiting(), 0);
}

TEST(BulkheadTest, TheLineIsBounded) {
  Bulkhead bulkhead(1, 2);
  ASSERT_TRUE(bulkhead.TryEnter());
  EXPECT_NE(bulkhead.Queue(), nullptr);
  EXPECT_NE(bulkhead.Queue(), nullptr);
  EXPECT_EQ(bulkhead.Queue(), nullptr);
}

TEST(BulkheadTest, OneThatGoesAwayLeavesTheLine) {
  Bulkhead bulkhead(1, 10);
  ASSERT_TRUE(bulkhead.TryEnter());
  const auto first = bulkhead.Queue();
  const auto second = bulkhead.Queue();
  EXPECT_FALSE(bulkhead.StopWaiting(*first));
  bulkhead.Leave();
  EXPECT_FALSE(first->turn()->settled());
  EXPECT_TRUE(second->turn()->settled());
}

TEST(BulkheadTest, OneThatGoesAwayTooLateHasItsPlaceAndLeavesIt) {
  Bulkhead bulkhead(1, 10);
  ASSERT_TRUE(bulkhead.TryEnter());
  const auto waiting = bulkhead.Queue();
  bulkhead.Leave();
  EXPECT_TRUE(bulkhead.StopWaiting(*waiting));
  EXPECT_EQ(bulkhead.under_way(), 1);
  bulkhead.Leave();
  EXPECT_TRUE(bulkhead.TryEnter());
}

TEST(BulkheadTest, APlaceThatBecameFreeMeanwhileNeedsNoWait) {
  Bulkhead bulkhead(1, 10);
  const auto waiting = bulkhead.Queue();
  EXPECT_TRUE(waiting->turn()->settled());
  EXPECT_EQ(bulkhead.under_way(), 1);
}

// No place is lost between one that leaves and one that begins to wait, and none is given twice.
TEST(BulkheadTest, ThreadsThatRaceAllGetTheirTurnAndNeverMoreAtATime) {
  constexpr int kPlaces = 2;
  Bulkhead bulkhead(kPlaces, 1000);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> turns{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) {
        if (!bulkhead.TryEnter()) {
          const auto waiting = bulkhead.Queue();
          const auto wake = std::make_shared<WakeUp>();
          waiting->turn()->WhenSettled([wake] { wake->Wake(); });
          ASSERT_TRUE(wake->WaitFor(absl::Seconds(30)));
        }
        const int now = ++inside;
        int seen = most.load();
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        ++turns;
        --inside;
        bulkhead.Leave();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turns, 12'000);
  EXPECT_LE(most, kPlaces);
  EXPECT_EQ(bulkhead.under_way(), 0);
  EXPECT_EQ(bulkhead.waiting(), 0);
}

}  // namespace
}  // namespace marpc
