#include "marpc/retry/stateful_retry.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/retry/last_good.h"
#include "tests/retry/virtual_time.h"

namespace marpc {
namespace {

using ::testing::HasSubstr;

class StatefulRetryTest : public ::testing::Test {
 protected:
  Retry Base(int attempts) {
    return Retry::OnError().Max(attempts).Named("handle").Using(time_.environment()).Log(nullptr);
  }
  template <typename F>
  StatefulRetry<F> Stateful(const BasicRetry<F>& retry, size_t capacity = 100) {
    if (cache_ == nullptr) cache_ = std::make_shared<RetryStateCache>(capacity);
    return StatefulRetry<F>(retry, cache_);
  }
  auto Failing() {
    return [this] { return ++calls_, absl::UnavailableError("down"); };
  }

  testing::VirtualTime time_;
  std::shared_ptr<RetryStateCache> cache_;
  RetryReport report_;
  int calls_ = 0;
};

TEST_F(StatefulRetryTest, EachCallMakesOneAttemptAndTheNextCountsOn) {
  const auto retry = Stateful(Base(3).Fallback([](RetryContext& context) {
    EXPECT_EQ(context.attempt(), 3);
    return absl::OkStatus();
  }));
  for (int n = 1; n <= 3; ++n) {
    EXPECT_TRUE(absl::IsUnavailable(retry.Call("m1", Failing(), {.report = &report_})));
    EXPECT_EQ(report_.attempts, n);
    EXPECT_EQ(calls_, n);
    EXPECT_TRUE(cache_->Contains("m1"));
  }
  EXPECT_TRUE(retry.Call("m1", Failing(), {.report = &report_}).ok()) << "recovered";
  EXPECT_EQ(report_.answered_by, RetryReport::AnsweredBy::kFallback);
  EXPECT_EQ(calls_, 3) << "instead of the operation";
  EXPECT_FALSE(cache_->Contains("m1"));
}

TEST_F(StatefulRetryTest, ExhaustedWithoutAFallbackIsAnErrorThatSaysSoOnce) {
  const auto retry = Stateful(Base(1));
  retry.Call("m1", Failing()).IgnoreError();
  const absl::Status exhausted = retry.Call("m1", Failing());
  EXPECT_EQ(GetErrorInfo(exhausted)->reason(), reason::kRetrySpent);
  EXPECT_THAT(std::string(exhausted.message()), HasSubstr("'m1'"));
  EXPECT_THAT(std::string(exhausted.message()), HasSubstr("down"));
  EXPECT_EQ(calls_, 1);
  EXPECT_TRUE(absl::IsUnavailable(retry.Call("m1", Failing()))) << "a new history";
  EXPECT_EQ(calls_, 2);
  EXPECT_TRUE(absl::IsUnavailable(retry.LastErrorWhenExhausted().Call("m1", Failing())));
  EXPECT_EQ(calls_, 2);
}

TEST_F(StatefulRetryTest, TheFallbackSeesTheResultThatIsNotWanted) {
  const std::string pending = "PENDING, and too long to lie in the string object itself";
  const auto retry = Stateful(Retry::WhenReturns(pending)
                                  .Max(2)
                                  .Using(time_.environment())
                                  .Log(nullptr)
                                  .Fallback([](RetryContext& context) {
                                    return "saw " + *context.last_result().As<std::string>();
                                  }));
  const absl::StatusOr<std::string> result = retry.Call("m1", [&] { return pending; });
  EXPECT_EQ(*result, "saw " + pending);
}

TEST_F(StatefulRetryTest, ASuccessForgetsTheHistory) {
  const auto retry = Stateful(Base(2));
  retry.Call("m1", Failing()).IgnoreError();
  EXPECT_TRUE(retry.Call("m1", [] { return absl::OkStatus(); }).ok());
  EXPECT_EQ(cache_->size(), 0u);
  retry.Call("m1", Failing(), {.report = &report_}).IgnoreError();
  EXPECT_EQ(report_.attempts, 1);
}

TEST_F(StatefulRetryTest, KeysAreIndependentAndAnEmptyKeyHasNoHistory) {
  const auto retry = Stateful(Base(2));
  for (const char* key : {"a", "b", ""}) {
    retry.Call(key, Failing(), {.report = &report_}).IgnoreError();
    EXPECT_EQ(report_.attempts, 1);
  }
  EXPECT_EQ(cache_->size(), 2u);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(absl::IsUnavailable(retry.Call("", Failing())));
}

TEST_F(StatefulRetryTest, WhatTheCallerNeedNotSeeIsTriedAndRecoveredInTheSameCall) {
  const auto retry = Stateful(Base(3).Fallback([] {
                       return absl::OkStatus();
                     })).RollbackFor([](const absl::Status& e) { return absl::IsDataLoss(e); });
  EXPECT_TRUE(retry.Call("m1", Failing()).ok());
  EXPECT_EQ(calls_, 3);
  EXPECT_EQ(cache_->size(), 0u);
  EXPECT_TRUE(absl::IsDataLoss(retry.Call("m1", [] { return absl::DataLossError(""); })));
  EXPECT_TRUE(cache_->Contains("m1"));
}

TEST_F(StatefulRetryTest, TheBackoffLivesWithTheKeyAndIsWaitedBeforeTheErrorIsReturned) {
  const auto retry = Stateful(
      Base(3).Backoff(Backoff::Exponential(absl::Milliseconds(100), absl::Seconds(30), 1.5)));
  std::vector<absl::Duration> slept;
  for (int i = 0; i < 3; ++i) {
    const MonotonicTime before = time_.clock.Now();
    retry.Call("m1", Failing()).IgnoreError();
    slept.push_back(time_.clock.Now() - before);
  }
  EXPECT_EQ(slept, testing::Milliseconds({100, 150, 0}));
}

TEST_F(StatefulRetryTest, AFinalErrorIsReturnedOnceThenRecovered) {
  const auto retry =
      Stateful(Retry::WhenStatus(absl::StatusCode::kAborted).Max(3).Log(nullptr).Fallback([] {
        return absl::OkStatus();
      }));
  EXPECT_TRUE(absl::IsUnavailable(retry.Call("m1", Failing())));
  EXPECT_TRUE(retry.Call("m1", Failing()).ok());
  EXPECT_EQ(calls_, 1);
}

TEST_F(StatefulRetryTest, CapacityCountsKeysAndKeysInsideGoOn) {
  const auto retry = Stateful(Base(3), 1);
  retry.Call("in", Failing()).IgnoreError();
  const absl::Status full = retry.Call("out", Failing());
  EXPECT_EQ(GetErrorInfo(full)->reason(), reason::kRetryStateFull);
  EXPECT_EQ(calls_, 2) << "it ran";
  EXPECT_FALSE(cache_->Contains("out"));
  EXPECT_TRUE(absl::IsUnavailable(retry.Call("in", Failing(), {.report = &report_})));
  EXPECT_EQ(report_.attempts, 2);
  EXPECT_TRUE(retry.Call("out", [] { return absl::OkStatus(); }).ok());
}

TEST_F(StatefulRetryTest, AFreshCallForgetsWhatWasBefore) {
  const auto retry = Stateful(Base(1));
  retry.Call("m1", Failing()).IgnoreError();
  EXPECT_TRUE(absl::IsUnavailable(retry.Call("m1", Failing(), {.fresh = true})));
  EXPECT_EQ(calls_, 2);
}

TEST_F(StatefulRetryTest, ABudgetIsGivenBackWhenAHistoryIsForgotten) {
  RetryBudgetSettings settings;
  settings.percent_can_retry = 1;
  settings.min_retries_per_sec = 0;
  settings.initial = 0;
  const auto budget = std::make_shared<RetryBudget>(settings, time_.clock.Now());
  const auto retry = Stateful(Base(3).Budget(budget));
  retry.Call("m1", Failing()).IgnoreError();
  EXPECT_DOUBLE_EQ(budget->Balance(time_.clock.Now()), 0) << "the next attempt is paid";
  cache_->Remove("m1");
  EXPECT_DOUBLE_EQ(budget->Balance(time_.clock.Now()), 1);
}

TEST_F(StatefulRetryTest, CallsOfOneKeyRunOneAfterTheOther) {
  const auto retry = Stateful(Base(100));
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10; ++n) {
        retry
            .Call("m1",
                  [&] {
                    most = std::max<int>(most, ++inside);
                    std::this_thread::yield();
                    --inside;
                    return absl::UnavailableError("");
                  })
            .IgnoreError();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  retry.Call("m1", Failing(), {.report = &report_}).IgnoreError();
  EXPECT_EQ(report_.attempts, 81) << "every attempt was counted";
}

TEST_F(StatefulRetryTest, ADeadlineAndACancellationEndTheWaitForTheKeysTurn) {
  const auto retry = Stateful(Base(3));
  absl::Notification running;
  absl::Notification go_on;
  std::thread first([&] {
    retry
        .Call("m1",
              [&] {
                running.Notify();
                go_on.WaitForNotification();
                return absl::OkStatus();
              })
        .IgnoreError();
  });
  running.WaitForNotification();
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      retry.Call("m1", Failing(), {.deadline = time_.clock.Now() + absl::Milliseconds(2)})));
  const auto cancel = std::make_shared<CancelSignal>();
  std::thread canceller([&] { cancel->Cancel(); });
  EXPECT_TRUE(absl::IsCancelled(retry.Call("m1", Failing(), {.cancel = cancel})));
  EXPECT_TRUE(absl::IsCancelled(retry.Call("m1", Failing(), {.cancel = cancel})));
  EXPECT_EQ(calls_, 0);
  canceller.join();
  go_on.Notify();
  first.join();
}

TEST_F(StatefulRetryTest, OtherKeysDoNotWait) {
  const auto retry = Stateful(Base(2));
  absl::Notification running;
  absl::Notification go_on;
  std::thread slow([&] {
    retry
        .Call("slow",
              [&] {
                running.Notify();
                go_on.WaitForNotification();
                return absl::OkStatus();
              })
        .IgnoreError();
  });
  running.WaitForNotification();
  EXPECT_TRUE(retry.Call("quick", [] { return absl::OkStatus(); }).ok());
  go_on.Notify();
  slow.join();
}

TEST_F(StatefulRetryTest, AnOperationThatCallsItselfWithItsKeyIsRefused) {
  const auto retry = Stateful(Base(2));
  absl::Status inner;
  EXPECT_TRUE(retry
                  .Call("m1",
                        [&] {
                          inner = retry.Call("m1", [] { return absl::OkStatus(); });
                          return absl::OkStatus();
                        })
                  .ok());
  EXPECT_EQ(GetErrorInfo(inner)->reason(), reason::kRetryReentered);
}

TEST_F(StatefulRetryTest, AWrappedFunctionTakesItsKeyFromItsArguments) {
  auto handle =
      MakeStateful([&](const std::string& id, int) { return ++calls_, absl::AbortedError(id); },
                   Stateful(Base(1)), [](const std::string& id, int) { return id; });
  EXPECT_TRUE(absl::IsAborted(handle("x", 1)));
  EXPECT_TRUE(cache_->Contains("x"));
  EXPECT_TRUE(absl::IsResourceExhausted(handle("x", 2)));
  EXPECT_EQ(calls_, 1);
}

TEST(LastGoodTest, AnOldAnswerStandsInUntilItIsTooOld) {
  testing::VirtualTime time;
  LastGood<int> kept(absl::Minutes(10), 2, time.clock);
  const auto retry =
      Retry::OnError().Max(2).Using(time.environment()).Log(nullptr).Fallback(kept.Fallback("EUR"));
  RetryReport report;
  EXPECT_EQ(*retry.Call(kept.Keeping("EUR", [] { return 7; }), {.report = &report}), 7);
  EXPECT_EQ(report.answered_by, RetryReport::AnsweredBy::kOperation);
  const auto down =
      kept.Keeping("EUR", []() -> absl::StatusOr<int> { return absl::UnavailableError("down"); });
  time.clock.Advance(absl::Minutes(10));
  EXPECT_EQ(*retry.Call(down, {.report = &report}), 7);
  EXPECT_EQ(report.answered_by, RetryReport::AnsweredBy::kFallback);
  time.clock.Advance(absl::Nanoseconds(1));
  EXPECT_TRUE(absl::IsUnavailable(retry.Call(down, {.report = &report}).status()));
  EXPECT_EQ(report.answered_by, RetryReport::AnsweredBy::kNone);
}

TEST(LastGoodTest, TheKeyThatWasNotKeptForLongestGoesFirst) {
  LastGood<int> kept(absl::Minutes(10), 2);
  kept.Keep("a", 1);
  kept.Keep("b", 2);
  kept.Keep("a", 3);
  kept.Keep("c", 4);
  EXPECT_EQ(kept.Get("a"), 3);
  EXPECT_EQ(kept.Get("b"), std::nullopt);
  EXPECT_EQ(kept.Get("c"), 4);
  kept.Forget("a");
  EXPECT_EQ(kept.Get("a"), std::nullopt);
}

// Asks its cache for another answer whenever it is copied or destroyed.
struct Curious {
  explicit Curious(LastGood<Curious>* cache) : cache(cache) {}
  Curious(const Curious& other) : cache(other.cache) { Ask(); }
  Curious(Curious&& other) noexcept : cache(std::exchange(other.cache, nullptr)) {}
  ~Curious() { Ask(); }
  void Ask() {
    if (cache != nullptr) cache->Forget("nothing");
  }
  LastGood<Curious>* cache;
};

TEST(LastGoodTest, AnAnswersOwnCodeRunsWithoutTheLock) {
  LastGood<Curious> answers(absl::Hours(1), /*capacity=*/1);
  answers.Keep("a", Curious(&answers));
  answers.Keep("a", Curious(&answers));
  EXPECT_TRUE(answers.Get("a").has_value());
  answers.Keep("b", Curious(&answers));
  EXPECT_FALSE(answers.Get("a").has_value());
  answers.Forget("b");
}

}  // namespace
}  // namespace marpc
