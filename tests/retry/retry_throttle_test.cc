#include "marpc/retry/retry_throttle.h"

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using testing::HasSubstr;

RetryThrottleSettings Settings(int max_tokens, double ratio) {
  RetryThrottleSettings settings;
  settings.max_tokens = max_tokens;
  settings.token_ratio = ratio;
  return settings;
}

void Fail(RetryThrottle& throttle, int times) {
  for (int i = 0; i < times; ++i) throttle.OnFailure();
}

TEST(RetryThrottleTest, StopsAtHalfAndBelow) {
  RetryThrottle throttle(Settings(10, 0.1));
  Fail(throttle, 4);
  EXPECT_EQ(throttle.tokens(), 6);
  EXPECT_TRUE(throttle.AllowsRetry());
  Fail(throttle, 1);
  EXPECT_EQ(throttle.tokens(), 5);
  EXPECT_FALSE(throttle.AllowsRetry());
  throttle.OnSuccess();
  EXPECT_TRUE(throttle.AllowsRetry());
}

TEST(RetryThrottleTest, StaysBetweenNothingAndItsMaximum) {
  RetryThrottle throttle(Settings(3, 0.5));
  throttle.OnSuccess();
  EXPECT_EQ(throttle.tokens(), 3);
  Fail(throttle, 5);
  EXPECT_EQ(throttle.tokens(), 0);
  for (int i = 0; i < 3; ++i) throttle.OnSuccess();
  EXPECT_EQ(throttle.tokens(), 1.5);
  EXPECT_FALSE(throttle.AllowsRetry()) << "exactly half";
  for (int i = 0; i < 10; ++i) throttle.OnSuccess();
  EXPECT_EQ(throttle.tokens(), 3);
}

TEST(RetryThrottleTest, OfTheRatioThreeDecimalsCount) {
  RetryThrottle throttle(Settings(10, 0.5466));
  Fail(throttle, 1);
  throttle.OnSuccess();
  EXPECT_EQ(throttle.tokens(), 9.546);
  RetryThrottle other(Settings(10, 0.29));
  Fail(other, 1);
  other.OnSuccess();
  EXPECT_EQ(other.tokens(), 9.29);
}

TEST(RetryThrottleTest, ValidateNamesWhatCannotBe) {
  EXPECT_TRUE(RetryThrottle::Validate(RetryThrottleSettings()).ok());
  EXPECT_TRUE(RetryThrottle::Validate(Settings(1000, 1.5)).ok());
  for (const int tokens : {0, -1, 1001}) {
    EXPECT_THAT(std::string(RetryThrottle::Validate(Settings(tokens, 0.1)).message()),
                HasSubstr("maxTokens is from 1 to 1000"));
  }
  for (const double ratio : {0.0, -1.0, 0.0001, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(std::string(RetryThrottle::Validate(Settings(10, ratio)).message()),
                HasSubstr("tokenRatio is at least 0.001"));
  }
}

TEST(RetryThrottleTest, CountsWhatAllThreadsSay) {
  RetryThrottle throttle(Settings(1000, 1));
  Fail(throttle, 500);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&throttle, t] {
      for (int i = 0; i < 100; ++i) t % 2 == 0 ? throttle.OnSuccess() : throttle.OnFailure();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(throttle.tokens(), 500);
}

}  // namespace
}  // namespace marpc
