#include "marpc/limit/call_limits.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/config/load.h"

namespace marpc {
namespace {

using ::testing::HasSubstr;

// The limits of a method with these keys below `limit`.
std::shared_ptr<CallLimits> Make(const std::string& keys) {
  const auto settings = ParseSettings("marpc: {limit: {" + keys + "}}", "test.yaml");
  EXPECT_TRUE(settings.ok()) << settings.status();
  const CallLimitSettings& limit = settings->method_defaults.limit;
  EXPECT_TRUE(CallLimits::Validate(limit).ok()) << CallLimits::Validate(limit);
  return CallLimits::Make(limit);
}

TEST(CallLimitsTest, WhatLimitsNothingIsNull) {
  EXPECT_EQ(Make(""), nullptr);
  // Each needs its own switch.
  EXPECT_EQ(Make("maxWait: 1s, maxWaiting: 5, rateWindow: 5s, throttle: {window: 1m}"), nullptr);
}

TEST(CallLimitsTest, EachKeyActs) {
  const auto bulkhead = Make("maxConcurrent: 1, maxWait: 70ms, maxWaiting: 2");
  ASSERT_NE(bulkhead->bulkhead, nullptr);
  EXPECT_EQ(bulkhead->rate, nullptr);
  EXPECT_EQ(bulkhead->throttle, nullptr);
  EXPECT_EQ(bulkhead->bulkhead->max_concurrent(), 1);
  EXPECT_EQ(bulkhead->max_wait, absl::Milliseconds(70));
  ASSERT_TRUE(bulkhead->bulkhead->TryEnter());
  EXPECT_NE(bulkhead->bulkhead->Queue(), nullptr);
  EXPECT_NE(bulkhead->bulkhead->Queue(), nullptr);
  EXPECT_EQ(bulkhead->bulkhead->Queue(), nullptr);

  EXPECT_EQ(Make("rate: 20")->rate->calls(), 20);
  EXPECT_EQ(Make("rate: 20, rateWindow: 5s")->rate->calls(), 100);
  EXPECT_EQ(Make("rate: 20")->bulkhead, nullptr);

  const auto refusal = [&](const std::string& keys, absl::Duration later) {
    SimulatedClock now;
    const auto limits = Make("throttle: {enabled: true, " + keys + "}");
    for (int i = 0; i < 99; ++i) limits->throttle->OnOutcome(i < 40, now.Now());
    now.Advance(later);
    return limits->throttle->RefusalProbability(now.Now());
  };
  EXPECT_DOUBLE_EQ(refusal("multiplier: 2", absl::Seconds(20)), 0.19);
  EXPECT_DOUBLE_EQ(refusal("multiplier: 1", absl::Seconds(20)), 0.59);
  EXPECT_DOUBLE_EQ(refusal("multiplier: 2, window: 10s", absl::Seconds(20)), 0);
  EXPECT_DOUBLE_EQ(refusal("multiplier: 1, maxRefusalPercent: 50", absl::Seconds(20)), 0.5);
}

TEST(CallLimitsTest, SettingsThatCannotBeInForceAreRefused) {
  const auto message = [](auto change) {
    CallLimitSettings settings;
    change(settings);
    return std::string(CallLimits::Validate(settings).message());
  };
  using S = CallLimitSettings;
  EXPECT_THAT(message([](S& s) { s.max_concurrent = -1; }), HasSubstr("limit.maxConcurrent"));
  EXPECT_THAT(message([](S& s) { s.max_wait = -absl::Seconds(1); }), HasSubstr("limit.maxWait"));
  EXPECT_THAT(message([](S& s) { s.max_waiting = 0; }), HasSubstr("limit.maxWaiting"));
  EXPECT_THAT(message([](S& s) { s.rate = -1; }), HasSubstr("limit.rate"));
  EXPECT_THAT(message([](S& s) { s.rate_window = absl::ZeroDuration(); }),
              HasSubstr("limit.rateWindow"));
  EXPECT_THAT(message([](S& s) { s.throttle.multiplier = 0.5; }),
              HasSubstr("limit.throttle.multiplier"));
  EXPECT_THAT(message([](S& s) { s.throttle.window = absl::ZeroDuration(); }),
              HasSubstr("limit.throttle.window"));
  EXPECT_THAT(message([](S& s) { s.throttle.max_refusal_percent = 0; }),
              HasSubstr("limit.throttle.maxRefusalPercent"));
}

}  // namespace
}  // namespace marpc
