#include "marpc/limit/rate_limit.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "marpc/base/random.h"
#include "marpc/limit/caller_rates.h"
#include "marpc/limit/sliding_count.h"

namespace marpc {
namespace {

class SlidingCountTest : public ::testing::Test {
 protected:
  SimulatedClock clock_;
  MonotonicTime now() const { return clock_.Now(); }
};

TEST_F(SlidingCountTest, CountsWhatIsYoungerThanTheWindowAndForgetsTheRest) {
  SlidingCount count(absl::Milliseconds(320));  // buckets of 10 ms
  for (int i = 0; i < 5; ++i) count.Add(now());
  EXPECT_EQ(count.Sum(now()), 5);
  clock_.Advance(absl::Milliseconds(320));
  EXPECT_EQ(count.Sum(now()), 5) << "they are as old as the window, not older by a bucket";
  clock_.Advance(absl::Milliseconds(10));
  EXPECT_EQ(count.Sum(now()), 0);
  count.Add(now());
  clock_.Advance(absl::Hours(5));
  EXPECT_EQ(count.Sum(now()), 0);
}

TEST_F(SlidingCountTest, TakesBackWhatIsStillCountedAndNothingElse) {
  SlidingCount count(absl::Milliseconds(320));
  const MonotonicTime first = now();
  count.Add(first);
  clock_.Advance(absl::Milliseconds(50));
  count.Add(now());
  count.TakeBack(first);
  count.TakeBack(first);
  EXPECT_EQ(count.Sum(now()), 1);
}

TEST_F(SlidingCountTest, SaysWhenTheOldestIsForgotten) {
  SlidingCount count(absl::Milliseconds(320));
  EXPECT_EQ(count.UntilFewer(now()), absl::ZeroDuration());
  count.Add(now());
  clock_.Advance(absl::Milliseconds(100));
  count.Add(now());
  const absl::Duration wait = count.UntilFewer(now());
  EXPECT_EQ(wait, absl::Milliseconds(230));
  clock_.Advance(wait - absl::Nanoseconds(1));
  EXPECT_EQ(count.Sum(now()), 2);
  clock_.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(count.Sum(now()), 1);
}

TEST_F(SlidingCountTest, AThreadThatLagsBehindByAWindowIsCountedNow) {
  SlidingCount count(absl::Milliseconds(320));
  const MonotonicTime old = now();
  clock_.Advance(absl::Milliseconds(330));  // the same place in the ring
  count.Add(now());
  count.Add(old);
  EXPECT_EQ(count.Sum(now()), 2);
}

TEST_F(SlidingCountTest, ASumSeesWhatIsCountedOrTakenBackBehindItsLatestBucket) {
  SlidingCount count(absl::Milliseconds(320));
  const MonotonicTime early = now();
  count.Add(early);
  clock_.Advance(absl::Milliseconds(10));
  const MonotonicTime late = now();
  count.Add(late);
  EXPECT_EQ(count.Sum(late), 2);
  count.Add(early);  // by a thread that was held up
  EXPECT_EQ(count.Sum(late), 3);
  EXPECT_EQ(count.Sum(early), 3);  // and for a thread that is held up
  count.TakeBack(early);
  EXPECT_EQ(count.Sum(late), 2);
  clock_.Advance(absl::Milliseconds(10));
  EXPECT_EQ(count.Sum(now()), 2);
  count.Add(now());
  EXPECT_EQ(count.Sum(late), 3) << "what is counted later counts for those who come late, too";
  EXPECT_EQ(count.Sum(now()), 3);
}

TEST_F(SlidingCountTest, ASumIsWhatCountingOneByOneFinds) {
  SlidingCount count(absl::Milliseconds(320));
  SeededRandom random(7);
  std::vector<MonotonicTime> all;
  for (int step = 0; step < 20'000; ++step) {
    clock_.Advance(absl::Milliseconds(random.Below(4)) * (random.Below(500) == 0 ? 200 : 1));
    // Some come late, by up to three buckets.
    const MonotonicTime at =
        now() - absl::Milliseconds(random.Below(4) == 0 ? random.Below(30) : 0);
    count.Add(at);
    all.push_back(at);
    if (random.Below(5) == 0) {
      count.TakeBack(all.back());
      all.pop_back();
    }
    const int64_t oldest = now().nanos() / 10'000'000 - 32;
    std::erase_if(all, [&](MonotonicTime one) { return one.nanos() / 10'000'000 < oldest; });
    ASSERT_EQ(count.Sum(now()), static_cast<int64_t>(all.size())) << step;
  }
}

// Of two that take the last call at once, in different buckets too, one sees the other.
TEST(RateLimitTest, ThreadsThatCrossBucketsNeverTakeMoreThanThereIs) {
  const Clock& clock = Clock::Real();
  for (int round = 0; round < 20; ++round) {
    RateLimit limit(/*rate=*/1'000, absl::Seconds(1));  // buckets of 31 ms
    std::atomic<int64_t> nanos{clock.Now().nanos()};
    std::atomic<int> admitted{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1'000; ++i) {
          // All of it is within one window, and goes through most of its buckets.
          const int64_t now = nanos.fetch_add(200'000);
          if (limit.TryTake(MonotonicTime::FromNanos(now))) ++admitted;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(admitted.load(), limit.calls());
    EXPECT_GE(admitted.load(), limit.calls() * 9 / 10);
  }
}

// Greedy callers at every millisecond: whatever window is looked at, it holds no more than allowed.
TEST(RateLimitTest, NoWindowHoldsMoreThanTheRateAllows) {
  SimulatedClock clock;
  RateLimit limit(/*rate=*/100, absl::Seconds(1));
  std::vector<MonotonicTime> admitted;
  for (int ms = 0; ms < 10'000; ++ms) {
    // Bursts of different sizes, then silence.
    const int callers = ms % 700 < 350 ? ms % 7 : 0;
    for (int i = 0; i < callers; ++i) {
      if (limit.TryTake(clock.Now())) admitted.push_back(clock.Now());
    }
    clock.Advance(absl::Milliseconds(1));
  }
  ASSERT_GT(admitted.size(), 500u);
  for (size_t i = 0; i + 100 < admitted.size(); ++i) {
    EXPECT_GE(admitted[i + 100] - admitted[i], absl::Seconds(1)) << i;
  }
}

TEST(RateLimitTest, UnderSteadyPressureItAdmitsCloseToTheRate) {
  SimulatedClock clock;
  RateLimit limit(/*rate=*/100, absl::Seconds(1));
  int admitted = 0;
  for (int ms = 0; ms < 60'000; ++ms) {
    admitted += limit.TryTake(clock.Now()) ? 1 : 0;
    clock.Advance(absl::Milliseconds(1));
  }
  EXPECT_GE(admitted, 60 * 100 * 31 / 32);
  EXPECT_LE(admitted, 60 * 100 + 100);
}

TEST(RateLimitTest, ARateBelowOneCallAWindowLengthensIt) {
  SimulatedClock clock;
  RateLimit limit(/*rate=*/0.1, absl::Seconds(1));
  EXPECT_EQ(limit.calls(), 1);
  EXPECT_TRUE(limit.TryTake(clock.Now()));
  clock.Advance(absl::Seconds(9));
  EXPECT_FALSE(limit.TryTake(clock.Now()));
  clock.Advance(limit.RetryAfter(clock.Now()));
  EXPECT_TRUE(limit.TryTake(clock.Now()));
}

TEST(RateLimitTest, AShareLeavesRoomForTheOthers) {
  SimulatedClock clock;
  RateLimit limit(/*rate=*/10, absl::Seconds(1));
  int sheddable = 0;
  for (int i = 0; i < 20; ++i) sheddable += limit.TryTake(clock.Now(), 0.8) ? 1 : 0;
  EXPECT_EQ(sheddable, 8);
  EXPECT_TRUE(limit.TryTake(clock.Now()));
  EXPECT_TRUE(limit.TryTake(clock.Now()));
  EXPECT_FALSE(limit.TryTake(clock.Now()));
}

TEST(RateLimitTest, ACallThatIsNotMadeIsGivenBack) {
  SimulatedClock clock;
  RateLimit limit(/*rate=*/1, absl::Seconds(1));
  ASSERT_TRUE(limit.TryTake(clock.Now()));
  limit.GiveBack(clock.Now());
  EXPECT_TRUE(limit.TryTake(clock.Now()));
}

TEST(RateLimitTest, ThreadsThatRaceNeverTakeMoreThanThereIs) {
  SimulatedClock clock;
  for (int round = 0; round < 50; ++round) {
    RateLimit limit(/*rate=*/100, absl::Seconds(1));
    std::atomic<int> admitted{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          if (limit.TryTake(clock.Now())) ++admitted;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(admitted, 100);
    EXPECT_GT(admitted, 50);
    EXPECT_EQ(limit.taken(clock.Now()), admitted);
  }
}

TEST(CallerRatesTest, CallersDoNotTakeFromEachOther) {
  SimulatedClock clock;
  CallerRates rates(/*rate=*/2, absl::Seconds(1));
  const auto take = [&](const char* caller) {
    return rates.Of(caller, clock.Now())->TryTake(clock.Now());
  };
  EXPECT_TRUE(take("a"));
  EXPECT_TRUE(take("a"));
  EXPECT_FALSE(take("a"));
  EXPECT_TRUE(take("b"));
}

TEST(CallerRatesTest, NamesWithoutEndDoNotTakeMemoryWithoutEndAndKnownCallersKeepTheirs) {
  SimulatedClock clock;
  CallerRates rates(/*rate=*/1, absl::Seconds(1));
  ASSERT_TRUE(rates.Of("known", clock.Now())->TryTake(clock.Now()));
  int admitted = 0;
  for (int i = 0; i < 3 * CallerRates::kMostCallers; ++i) {
    admitted += rates.Of(std::to_string(i), clock.Now())->TryTake(clock.Now()) ? 1 : 0;
  }
  // Each that has a limit of its own, and one for those that share.
  EXPECT_LE(admitted, CallerRates::kMostCallers + 16);
  EXPECT_FALSE(rates.Of("known", clock.Now())->TryTake(clock.Now()));
  // Those that have fallen silent make room.
  clock.Advance(absl::Seconds(2));
  EXPECT_TRUE(rates.Of("new", clock.Now())->TryTake(clock.Now()));
  EXPECT_TRUE(rates.Of("newer", clock.Now())->TryTake(clock.Now()));
}

}  // namespace
}  // namespace marpc
