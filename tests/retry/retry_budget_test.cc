#include "marpc/retry/retry_budget.h"

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

RetryBudgetSettings Settings(double ratio, int floor, absl::Duration ttl = absl::Seconds(10)) {
  RetryBudgetSettings settings;
  settings.percent_can_retry = ratio;
  settings.min_retries_per_sec = floor;
  settings.initial = floor;
  settings.ttl = ttl;
  return settings;
}

class RetryBudgetTest : public ::testing::Test {
 protected:
  int TakeAll(RetryBudget& budget) {
    int taken = 0;
    while (budget.TryWithdraw(clock_.Now())) ++taken;
    return taken;
  }
  void Deposit(RetryBudget& budget, int calls) {
    for (int i = 0; i < calls; ++i) budget.Deposit(clock_.Now());
  }
  SimulatedClock clock_;
};

TEST_F(RetryBudgetTest, AQuietClientHasASecondsFloorAtOnceAndATtlsWorthInTime) {
  RetryBudget budget(Settings(0.2, 10), clock_.Now());
  EXPECT_EQ(budget.tokens_per_retry(), 5);
  EXPECT_EQ(TakeAll(budget), 10);
  clock_.Advance(absl::Milliseconds(999));
  EXPECT_EQ(TakeAll(budget), 0);
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(TakeAll(budget), 10);
  clock_.Advance(absl::Minutes(5));
  EXPECT_EQ(TakeAll(budget), 100);
}

TEST_F(RetryBudgetTest, EveryCallDepositsItsShare) {
  RetryBudget budget(Settings(0.25, 0), clock_.Now());
  EXPECT_FALSE(budget.TryWithdraw(clock_.Now()));
  Deposit(budget, 3);
  EXPECT_FALSE(budget.TryWithdraw(clock_.Now())) << "three quarters of a retry are none";
  Deposit(budget, 1);
  EXPECT_TRUE(budget.TryWithdraw(clock_.Now()));
  EXPECT_FALSE(budget.TryWithdraw(clock_.Now()));
  Deposit(budget, 400);
  EXPECT_EQ(TakeAll(budget), 100);
}

TEST_F(RetryBudgetTest, DepositsLeaveWithTheWindow) {
  RetryBudget budget(Settings(0.5, 0), clock_.Now());
  Deposit(budget, 100);
  clock_.Advance(absl::Milliseconds(9999));
  EXPECT_EQ(budget.Balance(clock_.Now()), 100);
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(budget.Balance(clock_.Now()), 0);
}

TEST_F(RetryBudgetTest, WhatCallsBroughtIsSavedUpForThoseThatADeadInstanceTakesWithIt) {
  RetryBudget budget(Settings(0.1, 3), clock_.Now());
  Deposit(budget, 10'000);
  EXPECT_EQ(TakeAll(budget), 1003);
}

TEST_F(RetryBudgetTest, NeverHoldsMoreThanItsBurst) {
  RetryBudgetSettings settings = Settings(0.2, 1);
  settings.burst = 10;
  RetryBudget budget(settings, clock_.Now());
  Deposit(budget, 10'000);
  EXPECT_EQ(budget.Balance(clock_.Now()), 50);
  clock_.Advance(absl::Seconds(9));
  Deposit(budget, 10'000);
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(budget.Balance(clock_.Now()), 50) << "the oldest went, the youngest are still there";
}

TEST_F(RetryBudgetTest, OneRetryFitsInAlways) {
  RetryBudget budget(Settings(0.3, 1, absl::Seconds(1)), clock_.Now());
  for (int second = 0; second < 5; ++second) {
    EXPECT_EQ(TakeAll(budget), 1);
    clock_.Advance(absl::Seconds(1));
  }
}

TEST_F(RetryBudgetTest, TheOldestTokensAreSpentFirst) {
  RetryBudget budget(Settings(1, 0), clock_.Now());
  Deposit(budget, 3);
  clock_.Advance(absl::Seconds(5));
  Deposit(budget, 3);
  EXPECT_TRUE(budget.TryWithdraw(clock_.Now()));
  clock_.Advance(absl::Seconds(5));
  EXPECT_EQ(budget.Balance(clock_.Now()), 3);
}

TEST_F(RetryBudgetTest, AskingWhetherThereIsEnoughTakesNothing) {
  RetryBudget budget(Settings(0.5, 0), clock_.Now());
  Deposit(budget, 1);
  EXPECT_FALSE(budget.CanWithdraw(clock_.Now()));
  Deposit(budget, 1);
  EXPECT_TRUE(budget.CanWithdraw(clock_.Now()));
  EXPECT_EQ(budget.Balance(clock_.Now()), 2);
}

TEST_F(RetryBudgetTest, ALongSilenceLeavesNothingBehind) {
  RetryBudget budget(Settings(0.5, 0), clock_.Now());
  Deposit(budget, 1000);
  clock_.Advance(absl::Hours(100));
  EXPECT_EQ(budget.Balance(clock_.Now()), 0);
}

TEST_F(RetryBudgetTest, ARetryThatIsGivenBackCanBeTakenAgain) {
  RetryBudget budget(Settings(1, 1, absl::Seconds(1)), clock_.Now());
  const auto withdrawal = budget.TryWithdraw(clock_.Now());
  ASSERT_TRUE(withdrawal.has_value());
  EXPECT_FALSE(budget.TryWithdraw(clock_.Now()));
  budget.GiveBack(*withdrawal, clock_.Now());
  EXPECT_TRUE(budget.TryWithdraw(clock_.Now()));
}

TEST_F(RetryBudgetTest, WhatIsGivenBackIsNotYoungerThanItWas) {
  RetryBudget budget(Settings(1, 0), clock_.Now());
  Deposit(budget, 1);
  clock_.Advance(absl::Seconds(9));
  const auto withdrawal = budget.TryWithdraw(clock_.Now());
  ASSERT_TRUE(withdrawal.has_value());
  budget.GiveBack(*withdrawal, clock_.Now());
  EXPECT_EQ(budget.Balance(clock_.Now()), 1);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(budget.Balance(clock_.Now()), 0);
}

TEST_F(RetryBudgetTest, WhatIsGivenBackIsAsOldAsItWasWhateverWasTakenSince) {
  RetryBudget budget(Settings(1, 0), clock_.Now());
  Deposit(budget, 1);
  clock_.Advance(absl::Seconds(4));
  Deposit(budget, 1);
  const auto old = budget.TryWithdraw(clock_.Now());
  const auto young = budget.TryWithdraw(clock_.Now());
  ASSERT_TRUE(old.has_value() && young.has_value());
  budget.GiveBack(*young, clock_.Now());
  budget.GiveBack(*old, clock_.Now());
  EXPECT_EQ(budget.Balance(clock_.Now()), 2);
  clock_.Advance(absl::Seconds(6));
  EXPECT_EQ(budget.Balance(clock_.Now()), 1) << "the older one has had its time";
  clock_.Advance(absl::Seconds(4));
  EXPECT_EQ(budget.Balance(clock_.Now()), 0);
}

TEST_F(RetryBudgetTest, TokensOfSeveralAgesComeBackAsTheOldest) {
  RetryBudget budget(Settings(0.5, 0), clock_.Now());
  Deposit(budget, 1);
  clock_.Advance(absl::Seconds(9));
  Deposit(budget, 1);
  const auto both = budget.TryWithdraw(clock_.Now());
  ASSERT_TRUE(both.has_value());
  budget.GiveBack(*both, clock_.Now());
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(budget.Balance(clock_.Now()), 0);
}

TEST_F(RetryBudgetTest, UnderLoadThatAllFailsRetriesStayWithinTheirShare) {
  RetryBudget budget(Settings(0.2, 1), clock_.Now());
  constexpr int kSeconds = 60;
  constexpr int kPerSecond = 1000;
  int retries = 0;
  for (int i = 0; i < kSeconds * kPerSecond; ++i) {
    budget.Deposit(clock_.Now());
    for (int attempt = 0; attempt < 3; ++attempt)
      retries += budget.TryWithdraw(clock_.Now()).has_value();
    clock_.Advance(absl::Seconds(1) / kPerSecond);
  }
  const int floor = 1 * (kSeconds + 10);
  EXPECT_LE(retries, kSeconds * kPerSecond * 0.2 + floor);
  EXPECT_GE(retries, kSeconds * kPerSecond * 0.19);
}

TEST_F(RetryBudgetTest, ValidateNamesWhatCannotBe) {
  EXPECT_TRUE(RetryBudget::Validate(RetryBudgetSettings()).ok());
  EXPECT_TRUE(RetryBudget::Validate(Settings(1, 0, absl::Seconds(1))).ok());
  for (const double share : {0.0, -0.1, 1.1, std::nan("")}) {
    EXPECT_THAT(std::string(RetryBudget::Validate(Settings(share, 1)).message()),
                testing::HasSubstr("percentCanRetry"));
  }
  EXPECT_THAT(std::string(RetryBudget::Validate(Settings(0.2, -1)).message()),
              testing::HasSubstr("minRetriesPerSec"));
  EXPECT_THAT(std::string(RetryBudget::Validate(Settings(0.2, 1, absl::ZeroDuration())).message()),
              testing::HasSubstr("ttl"));
}

TEST_F(RetryBudgetTest, ThreadsTogetherTakeNoMoreThanThereIs) {
  RetryBudget budget(Settings(0.5, 0), clock_.Now());
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        budget.Deposit(clock_.Now());
        if (budget.TryWithdraw(clock_.Now())) taken.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  taken.fetch_add(TakeAll(budget));
  EXPECT_EQ(taken.load(), 4000);
}

}  // namespace
}  // namespace marpc
