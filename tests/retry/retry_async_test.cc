#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
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

// --- code of the program's own that throws

constexpr char kThrown[] = "of the user's";
void Throw() { throw std::runtime_error(kThrown); }

TEST_F(RetryAsyncTest, AStartThatThrowsIsAnAttemptThatFailed) {
  const Retry retry = Retry::WhenThrows<std::runtime_error>().Max(3).Log(nullptr);
  int calls = 0;
  EXPECT_EQ(*Run(retry.Sleep(absl::Milliseconds(1)),
                 [&](RetryContext&, AsyncDone<int> complete) {
                   if (++calls < 3) Throw();
                   complete(calls);
                 }),
            3);
  const absl::StatusOr<int> spent = Run(retry, [](RetryContext&, AsyncDone<int>) { Throw(); });
  EXPECT_THROW(RethrowExceptionOf(spent.status()), std::runtime_error);
}

TEST_F(RetryAsyncTest, WhatAStartThatThrewHandedOnCompletesNothing) {
  std::vector<AsyncDone<int>> kept;
  EXPECT_EQ(*Run(retry_,
                 [&](RetryContext&, AsyncDone<int> complete) {
                   if (!kept.empty()) {
                     kept.front()(7);
                     return complete(2);
                   }
                   kept.push_back(std::move(complete));
                   Throw();
                 }),
            2);
}

TEST_F(RetryAsyncTest, AStartThatThrowsAfterItsAnswerHasGivenIt) {
  EXPECT_EQ(*Run(retry_,
                 [&](RetryContext&, AsyncDone<int> complete) {
                   complete(1);
                   Throw();
                 }),
            1);
}

struct ThrowingListener final : RetryListener {
  void OnRetry(RetryContext&) override { Throw(); }
  void OnClose(RetryContext&) override {
    ++closed;
    Throw();
  }
  int closed = 0;
};

TEST_F(RetryAsyncTest, AListenerThatThrowsEndsTheRun) {
  const auto listener = std::make_shared<ThrowingListener>();
  const absl::StatusOr<int> result =
      Run(retry_.Listener(listener), [](RetryContext&, AsyncDone<int>) {});
  EXPECT_TRUE(absl::IsInternal(result.status())) << result.status();
  EXPECT_THAT(std::string(result.status().message()), ::testing::HasSubstr(kThrown));
  EXPECT_EQ(listener->closed, 1);
  EXPECT_EQ(
      *Run(retry_.Listener(listener), [](RetryContext&, AsyncDone<int> complete) { complete(1); }),
      1);
}

TEST_F(RetryAsyncTest, APredicateThatThrowsOnAnotherThreadEndsTheRun) {
  int asked = 0;
  const Retry retry = Retry::When([&](const RetryContext&) {
                        if (++asked == 2) Throw();
                        return true;
                      })
                          .Max(5)
                          .Sleep(absl::Milliseconds(1))
                          .Log(nullptr);
  const absl::StatusOr<int> result = Run(retry, [](RetryContext&, AsyncDone<int> complete) {
    complete(absl::UnavailableError(""));  // the second one on the timers' thread
  });
  EXPECT_TRUE(absl::IsInternal(result.status())) << result.status();
}

TEST_F(RetryAsyncTest, AFallbackThatThrowsEndsTheRun) {
  absl::Notification ended;
  retry_.Max(1)
      .Fallback([]() -> int {
        Throw();
        return 1;
      })
      .CallAsync<int>([](RetryContext&, AsyncDone<int>) {},
                      [&](const absl::StatusOr<int>& answer) {
                        EXPECT_TRUE(absl::IsInternal(answer.status())) << answer.status();
                        ended.Notify();
                      },
                      timers_);
  EXPECT_TRUE(ended.HasBeenNotified());
}

TEST_F(RetryAsyncTest, ADoneThatThrowsHarmsNobody) {
  int done = 0;
  EXPECT_NO_THROW(retry_.CallAsync<int>([](RetryContext&, AsyncDone<int> complete) { complete(1); },
                                        [&](const absl::StatusOr<int>&) {
                                          ++done;
                                          Throw();
                                        },
                                        timers_));
  EXPECT_EQ(done, 1);
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
