#include "marpc/retry/retry_log.h"

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/observe/log.h"
#include "marpc/retry/retry.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/retry/virtual_time.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class RetryLogTest : public ::testing::Test {
 protected:
  Retry Charging(Retry retry) {
    return retry.Named("charge").Using(time_.environment()).Log([this](const RetryLogLine& line) {
      lines_.push_back(line.ToString());
    });
  }

  testing::VirtualTime time_;
  std::vector<std::string> lines_;
};

TEST_F(RetryLogTest, OneLineARetryAndOneAtTheEnd) {
  Charging(Retry::OnError().Max(2).Sleep(absl::Milliseconds(10)))
      .Call([](RetryContext& context) {
        return context.attempt() == 1 ? absl::UnavailableError("down") : absl::InternalError("ill");
      })
      .IgnoreError();
  EXPECT_THAT(lines_, ElementsAre("event=retry operation=charge attempt=1 next=2 delay=10ms "
                                  "code=UNAVAILABLE reason=\"down\"",
                                  "event=retry_gave_up operation=charge attempts=2 code=INTERNAL "
                                  "reason=\"no attempt left (2 made)\""));
}

TEST_F(RetryLogTest, WhatWouldBreakALineIsEscaped) {
  Charging(Retry::OnError().Max(2))
      .Call([] { return absl::InternalError("a \"b\"\nevent=forged ü"); })
      .IgnoreError();
  EXPECT_EQ(lines_[0],
            "event=retry operation=charge attempt=1 next=2 delay=0 code=INTERNAL "
            "reason=\"a \\\"b\\\"\\nevent=forged ü\"");
}

TEST_F(RetryLogTest, TheInstanceIsNamedWhereThereIsOne) {
  const RetryStack stack{.operation = "charge",
                         .policies = {MaxAttempts(1)},
                         .listeners = {},
                         .log = [this](const RetryLogLine& l) { lines_.push_back(l.ToString()); }};
  RetrySession session(std::make_shared<RetryStack>(stack), {}, time_.random);
  session.Start(time_.clock.Now());
  session.OnAttemptDone({.error = absl::InternalError("ill"), .instance = "b:1"},
                        time_.clock.Now());
  EXPECT_THAT(lines_, ElementsAre("event=retry_gave_up operation=charge attempts=1 instance=b:1 "
                                  "code=INTERNAL reason=\"no attempt left (1 made)\""));
}

TEST_F(RetryLogTest, NothingOfASuccessAtOnceOfACancellationAndOfARejection) {
  EXPECT_TRUE(Charging(Retry::OnError().Max(2)).Call([] { return absl::OkStatus(); }).ok());
  const auto cancel = std::make_shared<CancelSignal>();
  cancel->Cancel();
  EXPECT_FALSE(Charging(Retry::OnError().Max(2))
                   .Call([] { return absl::OkStatus(); }, {.cancel = cancel})
                   .ok());
  const auto breaker = std::make_shared<SessionBreaker>(absl::Seconds(1));
  breaker->Open(time_.clock.Now());
  EXPECT_FALSE(
      Charging(Retry::OnError().Breaker(breaker)).Call([] { return absl::OkStatus(); }).ok());
  EXPECT_THAT(lines_, IsEmpty());
}

// A failing dependency must not fill the log of a program that handles its errors.
TEST(DefaultRetryLogTest, NothingIsWarnedOf) {
  std::ostringstream text;
  auto logger = std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_st>(text));
  logger->set_pattern("%l %v");
  logger->set_level(spdlog::level::debug);
  SetLogger(logger);
  testing::VirtualTime time;
  const auto fail = [] { return absl::UnavailableError("down"); };
  Retry::OnError().Max(2).Using(time.environment()).Call(fail).IgnoreError();
  Retry::WhenStatus(absl::StatusCode::kAborted)
      .Max(2)
      .Using(time.environment())
      .Call(fail)
      .IgnoreError();
  SetLogger(nullptr);
  const std::vector<std::string> lines = absl::StrSplit(text.str(), '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, ElementsAre(StartsWith("info event=retry operation="),
                                 StartsWith("info event=retry_gave_up operation="),
                                 StartsWith("debug event=retry_gave_up operation=")));
}

}  // namespace
}  // namespace marpc
