#include "marpc/base/latency_digest.h"

#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace marpc {
namespace {

constexpr absl::Duration kMs = absl::Milliseconds(1);
const MonotonicTime kStart = MonotonicTime::FromNanos(1'000'000'000'000);

TEST(LatencyDigestTest, KnowsNothingAtFirst) {
  LatencyDigest digest;
  EXPECT_EQ(digest.Percentile(0.5, 0, kStart), std::nullopt);
}

TEST(LatencyDigestTest, GivesPercentilesWithinATenth) {
  LatencyDigest digest;
  for (int i = 1; i <= 1000; ++i) digest.Record(i * kMs, kStart);
  for (const double percent : {10, 50, 90, 95, 99}) {
    const absl::Duration exact = percent * 10 * kMs;
    const absl::Duration found = *digest.Percentile(percent / 100, 1000, kStart);
    EXPECT_GE(found, exact);
    EXPECT_LE(found, exact * 1.13);
  }
}

TEST(LatencyDigestTest, WantsEnoughLatencies) {
  LatencyDigest digest;
  for (int i = 0; i < 99; ++i) digest.Record(kMs, kStart);
  EXPECT_EQ(digest.Percentile(0.5, 100, kStart), std::nullopt);
  digest.Record(kMs, kStart);
  EXPECT_NE(digest.Percentile(0.5, 100, kStart), std::nullopt);
}

TEST(LatencyDigestTest, ForgetsWhatIsOlderThanTwoPeriods) {
  LatencyDigest digest(absl::Seconds(10));
  for (int i = 0; i < 100; ++i) digest.Record(absl::Seconds(1), kStart);
  EXPECT_GT(*digest.Percentile(0.5, 1, kStart + absl::Seconds(10)), absl::Seconds(0.9));
  EXPECT_EQ(digest.Percentile(0.5, 1, kStart + absl::Seconds(20)), std::nullopt);
  digest.Record(kMs, kStart + absl::Seconds(45));
  EXPECT_LT(*digest.Percentile(0.5, 1, kStart + absl::Seconds(45)), 2 * kMs);
}

TEST(LatencyDigestTest, TakesTheShortestAndTheLongest) {
  LatencyDigest digest;
  digest.Record(-kMs, kStart);
  EXPECT_LE(*digest.Percentile(1, 1, kStart), absl::Microseconds(1));
  digest.Record(absl::Hours(1), kStart);
  EXPECT_GE(*digest.Percentile(1, 1, kStart), absl::Minutes(1));
}

TEST(LatencyDigestTest, ManyThreadsMayRecord) {
  LatencyDigest digest;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) digest.Record(kMs, kStart);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(digest.Percentile(0.5, 4000, kStart), std::nullopt);
}

}  // namespace
}  // namespace marpc
