#include "marpc/retry/deposit_ring.h"

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;

// Stamps in ms, rounded, and deposits.
std::vector<std::pair<int64_t, int64_t>> Drain(DepositRing& ring, int64_t until) {
  std::vector<std::pair<int64_t, int64_t>> all;
  ring.Drain(until, [&](int64_t stamp, int64_t deposits) {
    EXPECT_LE(stamp, until);
    all.emplace_back((stamp + kMs / 2) / kMs, deposits);
  });
  return all;
}

TEST(DepositRingTest, GivesBackWhatWasPutInByTime) {
  DepositRing ring(10 * kSecond);
  ring.Add(0);
  ring.Add(0);
  ring.Add(999 * kMs);
  ring.Add(5 * kSecond);
  EXPECT_THAT(Drain(ring, 5 * kSecond), ElementsAre(Pair(0, 2), Pair(999, 1), Pair(5000, 1)));
  EXPECT_THAT(Drain(ring, 6 * kSecond), IsEmpty());
}

TEST(DepositRingTest, WhatComesAfterADrainHasAStampOfItsOwn) {
  DepositRing ring(10 * kSecond);
  ring.Add(kSecond);
  EXPECT_THAT(Drain(ring, kSecond), ElementsAre(Pair(1000, 1)));
  ring.Add(kSecond + 2 * kMs);
  EXPECT_THAT(Drain(ring, kSecond + 2 * kMs), ElementsAre(Pair(1002, 1)));
}

TEST(DepositRingTest, KeepsWhatIsYoungEnoughAndForgetsWhatTheRingHasPassed) {
  DepositRing ring(10 * kSecond);
  for (int second = 0; second < 100; ++second) ring.Add(second * kSecond);
  const auto kept = Drain(ring, 99 * kSecond);
  ASSERT_GE(kept.size(), 10u);
  EXPECT_LE(kept.size(), 20u);
  EXPECT_THAT(kept.back(), Pair(99'000, 1));
  ring.Add(100'000 * kSecond);
  EXPECT_THAT(Drain(ring, 100'000 * kSecond), ElementsAre(Pair(100'000'000, 1)));
}

TEST(DepositRingTest, ATimeBeforeTheStartIsTheStart) {
  DepositRing ring(kSecond);
  ring.Add(-5);
  EXPECT_THAT(Drain(ring, 0), ElementsAre(Pair(0, 1)));
}

TEST(DepositRingTest, LosesNothingBetweenThreads) {
  DepositRing ring(10 * kSecond);
  constexpr int kThreads = 6;
  constexpr int kEach = 50'000;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) ring.Add(kSecond);
      running.fetch_sub(1);
    });
  }
  int64_t total = 0;
  const auto count = [&](int64_t, int64_t deposits) { total += deposits; };
  while (running.load() > 0) ring.Drain(kSecond, count);
  for (std::thread& thread : threads) thread.join();
  ring.Drain(kSecond, count);
  EXPECT_EQ(total, int64_t{kThreads} * kEach);
}

}  // namespace
}  // namespace marpc
