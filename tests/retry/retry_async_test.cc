#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/retry/retry.h"

namespace marpc {
namespace {

const absl::Duration kLong = absl::Hours(1);

class RetryAsyncTest : public ::testing::Test {
 protected:
  ~RetryAsyncTest() override { timers_.Stop(); }

  // Waits for the end.
  absl::StatusOr<int> Run(const Retry& retry, AsyncAttempt<int> start, const RetryCall& call = {}) {
    absl::Notification ended;
    absl::StatusOr<int> result;
    retry.CallAsync<int>(
        std::move(start),
        [&](absl::StatusOr<int> answer) {
          result = std::move(answer);
          ended.Notify();
        },
        timers_, call);
    EXPECT_TRUE(ended.WaitForNotificationWithTimeout(absl::Seconds(60)));
    return result;
  }

  TimerQueue timers_;
  RetryReport report_;
  const Retry retry_ = Retry::OnError().Max(3).Log(nullptr);
};

TEST_F(RetryAsyncTest, TriesAgainAndReports) {
  int calls = 0;
  EXPECT_EQ(*Run(retry_.Sleep(absl::Milliseconds(1)),
                 [&](RetryContext& context, AsyncDone<int> complete) {
                   EXPECT_EQ(context.attempt(), ++calls);
                   complete(calls < 3 ? absl::StatusOr<int>(absl::UnavailableError("")) : calls);
                 },
                 {.report = &report_}),
            3);
  EXPECT_EQ(report_.attempts, 3);
  EXPECT_THAT(report_.waits, ::testing::ElementsAre(absl::Milliseconds(1), absl::Milliseconds(1)));
  EXPECT_EQ(report_.answered_by, RetryReport::AnsweredBy::kOperation);
}

TEST_F(RetryAsyncTest, AttemptsMayEndOnAnotherThread) {
  std::vector<std::thread> threads;
  std::atomic<int> calls{0};
  EXPECT_EQ(*Run(retry_,
                 [&](RetryContext&, AsyncDone<int> complete) {
                   const int n = ++calls;
                   threads.emplace_back([complete = std::move(complete), n]() mutable {
                     complete(n < 3 ? absl::StatusOr<int>(absl::UnavailableError("")) : n);
                   });
                 }),
            3);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RetryAsyncTest, TheStackDoesNotGrowWithRetriesThatEndAtOnce) {
  const char* highest = nullptr;
  const char* lowest = nullptr;
  EXPECT_FALSE(Run(Retry::OnError().Max(100'000).Log(nullptr),
                   [&](RetryContext&, AsyncDone<int> complete) {
                     // Not the address of a local: a sanitizer may keep these elsewhere.
                     const auto* at = static_cast<const char*>(__builtin_frame_address(0));
                     if (highest == nullptr || at > highest) highest = at;
                     if (lowest == nullptr || at < lowest) lowest = at;
                     complete(absl::UnavailableError(""));
                   },
                   {.report = &report_})
                   .ok());
  EXPECT_EQ(report_.attempts, 100'000);
  EXPECT_LT(highest - lowest, 16 << 10);
}

TEST_F(RetryAsyncTest, TheFallbackAnswers) {
  absl::Notification ended;
  retry_.Fallback([](const absl::Status&) { return 9; })
      .CallAsync<int>(
          [](RetryContext&, AsyncDone<int> complete) { complete(absl::AbortedError("")); },
          [&](absl::StatusOr<int> answer) {
            EXPECT_EQ(*answer, 9);
            ended.Notify();
          },
          timers_, {.report = &report_});
  ended.WaitForNotification();
  EXPECT_EQ(report_.answered_by, RetryReport::AnsweredBy::kFallback);
}

TEST_F(RetryAsyncTest, TheFallbackSeesTheResultThatIsNotWanted) {
  absl::Notification ended;
  const std::string pending = "PENDING, and too long to lie in the string object itself";
  std::string got;
  Retry::WhenReturns(pending)
      .Max(2)
      .Log(nullptr)
      .Fallback([](RetryContext& context) { return *context.last_result().As<std::string>(); })
      .CallAsync<std::string>(
          [&](RetryContext&, AsyncDone<std::string> complete) { complete(pending); },
          [&](absl::StatusOr<std::string> result) {
            got = *result;
            ended.Notify();
          },
          timers_);
  ended.WaitForNotification();
  EXPECT_EQ(got, pending);
}

TEST_F(RetryAsyncTest, CancellationDuringAWaitEndsItAtOnce) {
  const auto cancel = std::make_shared<CancelSignal>();
  std::thread canceller;
  const absl::StatusOr<int> result = Run(retry_.Sleep(kLong),
                                         [&](RetryContext&, AsyncDone<int> complete) {
                                           canceller = std::thread([cancel] { cancel->Cancel(); });
                                           complete(absl::UnavailableError(""));
                                         },
                                         {.report = &report_, .cancel = cancel});
  EXPECT_TRUE(absl::IsCancelled(result.status())) << result.status();
  EXPECT_EQ(report_.attempts, 1);
  canceller.join();
}

TEST_F(RetryAsyncTest, ACallThatIsCancelledBeforeItBeginsMakesNoAttempt) {
  const auto cancel = std::make_shared<CancelSignal>();
  cancel->Cancel();
  const absl::StatusOr<int> result =
      Run(retry_, [](RetryContext&, AsyncDone<int>) { ADD_FAILURE(); }, {.cancel = cancel});
  EXPECT_TRUE(absl::IsCancelled(result.status()));
}

TEST_F(RetryAsyncTest, StoppedTimersEndWhatWaits) {
  std::thread stopper;
  const absl::StatusOr<int> result =
      Run(retry_.Sleep(kLong), [&](RetryContext&, AsyncDone<int> complete) {
        stopper = std::thread([this] { timers_.Stop(); });
        complete(absl::UnavailableError(""));
      });
  EXPECT_TRUE(absl::IsCancelled(result.status())) << result.status();
  stopper.join();
}

TEST_F(RetryAsyncTest, AnAttemptThatIsDroppedHasFailed) {
  int calls = 0;
  EXPECT_EQ(*Run(retry_,
                 [&](RetryContext&, AsyncDone<int> complete) {
                   if (++calls == 2) complete(calls);
                 }),
            2);
}

TEST_F(RetryAsyncTest, OnlyTheFirstCompletionCounts) {
  AsyncDone<int> kept;
  EXPECT_EQ(*Run(retry_,
                 [&](RetryContext&, AsyncDone<int> complete) {
                   complete(1);
                   complete(absl::InternalError("late"));
                   kept = std::move(complete);
                 }),
            1);
  kept(2);
}

TEST_F(RetryAsyncTest, AnUnusableRetryAnswersAtOnce) {
  const absl::StatusOr<int> result =
      Run(Retry::OnError().Max(0), [](RetryContext&, AsyncDone<int>) { ADD_FAILURE(); });
  EXPECT_TRUE(absl::IsInvalidArgument(result.status()));
}

TEST_F(RetryAsyncTest, AnOperationWithoutAResultGivesAStatus) {
  absl::Notification ended;
  retry_.CallAsync<void>(
      [](RetryContext&, AsyncDone<void> complete) { complete(absl::OkStatus()); },
      [&](const absl::Status& status) {
        EXPECT_TRUE(status.ok());
        ended.Notify();
      },
      timers_);
  ended.WaitForNotification();
}

}  // namespace
}  // namespace marpc
