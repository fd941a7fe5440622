#include "marpc/retry/retry.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "tests/retry/retry_fixture.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using AnsweredBy = RetryReport::AnsweredBy;

class RetryTest : public testing::RetryFixture {};

TEST_F(RetryTest, TriesTheNamedStatusesAgainAndNoOther) {
  const Retry retry =
      Under(Retry::WhenStatus(absl::StatusCode::kUnavailable, absl::StatusCode::kAborted)).Max(5);
  EXPECT_TRUE(
      retry.Call(Failing({absl::StatusCode::kUnavailable, absl::StatusCode::kAborted})).ok());
  EXPECT_EQ(calls_, 3u);
  calls_ = 0;
  const absl::Status final = retry.Call(
      Failing({absl::StatusCode::kUnavailable, absl::StatusCode::kNotFound}), {.report = &report_});
  EXPECT_TRUE(absl::IsNotFound(final));
  EXPECT_EQ(report_.attempts, 2);
  EXPECT_FALSE(report_.spent);
  EXPECT_EQ(report_.answered_by, AnsweredBy::kNone);
}

TEST_F(RetryTest, AResultThatIsNotWantedIsTriedAgainAndAnErrorIsNot) {
  const Retry retry = Under(Retry::WhenReturns(false)).Max(3);
  int n = 0;
  EXPECT_EQ(*retry.Call([&] { return ++n == 3; }), true);
  EXPECT_EQ(*retry.Call([] { return false; }, {.report = &report_}), false)
      << "the last result, when there is nothing left";
  EXPECT_EQ(report_.attempts, 3);
  EXPECT_EQ(report_.answered_by, AnsweredBy::kOperation);
  EXPECT_FALSE(retry
                   .Call([]() -> absl::StatusOr<bool> { return absl::UnavailableError(""); },
                         {.report = &report_})
                   .ok());
  EXPECT_EQ(report_.attempts, 1);
}

TEST_F(RetryTest, AResultThatIsStillNotWantedIsAnErrorWhereThatIsAskedFor) {
  const auto result =
      Under(Retry::WhenReturns("PENDING")).Max(2).FailWhenSpent().Named("poll").Call([] {
        return std::string("PENDING");
      });
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetErrorInfo(result.status())->reason(), reason::kRetrySpent);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("poll"));
}

TEST_F(RetryTest, PredicatesSeeTypedResultsAndTheContext) {
  int n = 0;
  EXPECT_EQ(
      *Under(Retry::WhenResult<int>([](int i) { return i < 4; })).Max(9).Call([&] { return ++n; }),
      4);
  n = 0;
  EXPECT_EQ(*Under(Retry::When([](const RetryContext& c) { return c.attempt() < 3; })).Call([&] {
    return ++n;
  }),
            3);
}

TEST_F(RetryTest, APredicateForAnotherTypeIsRefusedInsteadOfNeverMatching) {
  const auto result = Under(Retry::WhenReturns(1)).Max(2).Call([] { return 1L; });
  EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
}

TEST_F(RetryTest, NoValueIsNoResultAndIsFinal) {
  int n = 0;
  const Retry retry = Under(Retry::WhenFalsy()).Max(5);
  EXPECT_EQ(*retry.Call([&] { return ++n, std::optional<int>(); }), std::nullopt);
  EXPECT_EQ(n, 1);
  n = 0;
  EXPECT_EQ(**retry.Call([&] { return std::optional<int>(++n - 2); }), -1);
  n = 0;
  EXPECT_EQ(**retry.Call([&] { return std::optional<int>(++n < 3 ? 0 : 8); }), 8);
  n = 0;
  EXPECT_EQ(*retry.Call([&] { return std::string(++n < 3 ? "" : "x"); }), "x");
}

TEST_F(RetryTest, WithoutAClassifierErrorsAreTriedAgainAndResultsAreNot) {
  int n = 0;
  EXPECT_EQ(*Under(Retry::With(MaxAttempts(3))).Call([&] { return ++n; }), 1);
  EXPECT_TRUE(Under(Retry::With(MaxAttempts(3)))
                  .Call(Failing({absl::StatusCode::kInternal, absl::StatusCode::kInternal}))
                  .ok());
}

TEST_F(RetryTest, WithoutAPolicyItSaysWhatToAdd) {
  const absl::Status status = Under(Retry::With(Retry::PolicyList{}))
                                  .Named("charge")
                                  .Call(Failing({}), {.report = &report_});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("charge"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(".Max(3)"));
  EXPECT_EQ(calls_, 0u);
  EXPECT_EQ(report_.attempts, 0);
}

TEST_F(RetryTest, JitterWithoutAWaitIsRefused) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(Under(Retry::OnError()).Max(3).Jitter(0.2).Call(Failing({}))));
}

TEST_F(RetryTest, APolicyOfOnesOwnIsCopiedIn) {
  class Once final : public RetryPolicy {
   public:
    absl::string_view name() const override { return "once"; }
    RetryVerdict MayTry(RetryContext& context) override {
      return context.attempt() < 2 ? RetryVerdict::TryAgain()
                                   : RetryVerdict::Spent("once is enough");
    }
  };
  Under(Retry::With(Once(), MaxAttempts(9)))
      .Call([] { return absl::UnavailableError(""); }, {.report = &report_})
      .IgnoreError();
  EXPECT_EQ(report_.attempts, 2);
  EXPECT_EQ(report_.end_reason, "once is enough");
}

TEST_F(RetryTest, StepsChangeCopiesOnly) {
  const Retry base = Under(Retry::OnError()).Max(2);
  const Retry longer = base.Sleep(absl::Milliseconds(5));
  base.Call([] { return absl::InternalError(""); }, {.report = &report_}).IgnoreError();
  EXPECT_EQ(report_.waits, testing::Milliseconds({0}));
  longer.Call([] { return absl::InternalError(""); }, {.report = &report_}).IgnoreError();
  EXPECT_EQ(report_.waits, testing::Milliseconds({5}));
}

TEST_F(RetryTest, TheLastWaitCountsAndJitterMovesItInEitherOrder) {
  for (const Retry& retry :
       {Retry::OnError().Sleep(absl::Seconds(9)).Sleep(absl::Milliseconds(100)).Jitter(0.5),
        Retry::OnError().Jitter(0.5).Backoff(Backoff::Fixed(absl::Milliseconds(100)))}) {
    Under(retry.Max(20))
        .Call([] { return absl::InternalError(""); }, {.report = &report_})
        .IgnoreError();
    ASSERT_EQ(report_.waits.size(), 19u);
    for (const absl::Duration wait : report_.waits) {
      EXPECT_GE(wait, absl::Milliseconds(50));
      EXPECT_LE(wait, absl::Milliseconds(150));
    }
    EXPECT_NE(report_.waits[0], report_.waits[1]);
  }
}

TEST_F(RetryTest, TheOperationSeesItsContextAndMayEndIt) {
  std::vector<int> attempts;
  const absl::Status status =
      Under(Retry::OnError())
          .Max(9)
          .AttemptTimeout(absl::Seconds(3))
          .Call([&](RetryContext& context) {
            attempts.push_back(context.attempt());
            EXPECT_EQ(context.attempt_deadline(), time_.clock.Now() + absl::Seconds(3));
            EXPECT_EQ(context.last_error().ok(), context.attempt() == 1);
            context.attributes()["seen"] = context.attempt();
            if (context.attempt() == 2) context.EndNow();
            return absl::UnavailableError("");
          });
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(attempts, ElementsAre(1, 2));
}

TEST_F(RetryTest, TheFallbackAnswersWhenSpentAndTheReportSaysSo) {
  const auto retry =
      Under(Retry::OnError()).Max(3).Fallback([](const absl::Status& error, RetryContext& context) {
        EXPECT_TRUE(absl::IsUnavailable(error));
        EXPECT_EQ(context.attempt(), 3);
        return 42;
      });
  const auto down = []() -> absl::StatusOr<int> { return absl::UnavailableError("down"); };
  EXPECT_EQ(*retry.Call(down, {.report = &report_}), 42);
  EXPECT_EQ(report_.answered_by, AnsweredBy::kFallback);
  EXPECT_EQ(report_.attempts, 3);
  EXPECT_TRUE(absl::IsUnavailable(report_.last_error));
  EXPECT_EQ(*retry.Call([] { return 1; }, {.report = &report_}), 1);
  EXPECT_EQ(report_.answered_by, AnsweredBy::kOperation);
  EXPECT_FALSE(report_.fallback_ran);
}

TEST_F(RetryTest, TheFallbackIsNotAskedForAFinalErrorNorForOthersThanItsOwn) {
  const auto fallback = [] { return absl::OkStatus(); };
  EXPECT_TRUE(absl::IsNotFound(
      Under(Retry::WhenStatus(absl::StatusCode::kUnavailable)).Max(3).Fallback(fallback).Call([] {
        return absl::NotFoundError("");
      })));
  const auto choosy =
      Under(Retry::OnError()).Max(2).Fallback(fallback).FallbackFor([](const absl::Status& error) {
        return !absl::IsDataLoss(error);
      });
  EXPECT_TRUE(absl::IsDataLoss(choosy.Call([] { return absl::DataLossError(""); })));
  EXPECT_TRUE(choosy.Call([] { return absl::InternalError(""); }).ok());
}

TEST_F(RetryTest, TheFallbacksOwnErrorTakesThePlaceOfTheOriginal) {
  const auto retry = Under(Retry::OnError()).Max(1).Fallback([] {
    return absl::StatusOr<int>(absl::NotFoundError("no copy either"));
  });
  const auto result = retry.Call([]() -> absl::StatusOr<int> { return absl::UnavailableError(""); },
                                 {.report = &report_});
  EXPECT_TRUE(absl::IsNotFound(result.status()));
  EXPECT_EQ(report_.answered_by, AnsweredBy::kNone);
  EXPECT_TRUE(report_.fallback_ran);
}

TEST_F(RetryTest, TheFallbackAnswersForAResultThatIsNotWanted) {
  EXPECT_EQ(*Under(Retry::WhenReturns(false)).Max(2).Fallback([] { return true; }).Call([] {
    return false;
  }),
            true);
}

TEST_F(RetryTest, TheFallbackSeesTheResultThatIsNotWanted) {
  const auto last = [](RetryContext& context) {
    const std::string* result = context.last_result().As<std::string>();
    return result == nullptr ? std::string("none") : "saw " + *result;
  };
  const std::string pending = "PENDING, and too long to lie in the string object itself";
  EXPECT_EQ(*Under(Retry::WhenReturns(pending).Max(2).Fallback(last)).Call([&] { return pending; }),
            "saw " + pending);
}

TEST_F(RetryTest, AnOperationDoesNotSeeTheResultItReturnedBefore) {
  int seen = 0;
  Under(Retry::WhenReturns<int>(7).Max(3))
      .Call([&](RetryContext& context) {
        seen += !context.last_result().empty();
        return 7;
      })
      .IgnoreError();
  EXPECT_EQ(seen, 0) << "it is gone by then";
}

TEST_F(RetryTest, CancellationDuringAWaitEndsItAtOnce) {
  const auto cancel = std::make_shared<CancelSignal>();
  time_.on_sleep = [&](MonotonicTime, CancelSignal* signal) {
    time_.clock.Advance(absl::Seconds(1));
    signal->Cancel();
  };
  const MonotonicTime started = time_.clock.Now();
  const absl::Status status =
      Under(Retry::OnError())
          .Max(9)
          .Sleep(absl::Hours(1))
          .Fallback([] { return absl::OkStatus(); })
          .Call([] { return absl::UnavailableError(""); }, {.report = &report_, .cancel = cancel});
  EXPECT_TRUE(absl::IsCancelled(status));
  EXPECT_EQ(report_.attempts, 1);
  EXPECT_EQ(time_.clock.Now() - started, absl::Seconds(1));
}

TEST_F(RetryTest, VoidFunctionsAndMoveOnlyResultsWork) {
  EXPECT_TRUE(Under(Retry::OnError()).Max(2).Call([] {}).ok());
  auto moved = Under(Retry::OnError()).Max(2).Call([] { return std::make_unique<int>(3); });
  EXPECT_EQ(**moved, 3);
}

TEST_F(RetryTest, ExceptionsBecomeStatusesThatCarryThem) {
  const Retry retry = Under(Retry::WhenThrows<std::runtime_error>()).Max(3);
  auto failing = Throwing([&]() -> int {
    if (++calls_ < 3) throw std::range_error("again");
    return 5;
  });
  EXPECT_EQ(*retry.Call(failing), 5);
  calls_ = 0;
  const absl::StatusOr<int> other = retry.Call(Throwing([&]() -> int {
    ++calls_;
    throw std::logic_error("wrong");
  }));
  EXPECT_EQ(calls_, 1u);
  EXPECT_EQ(other.status().message(), "std::logic_error: wrong");
  EXPECT_THROW(RethrowExceptionOf(other.status()), std::logic_error);
  EXPECT_TRUE(CarriesException<std::exception>(other.status()));
  EXPECT_FALSE(CarriesException<std::runtime_error>(other.status()));
  EXPECT_NO_THROW(RethrowExceptionOf(absl::UnknownError("of its own")));
}

TEST_F(RetryTest, AnExceptionLivesAsLongAsACopyOfItsStatus) {
  const auto held = std::make_shared<int>(1);
  absl::Status kept;
  {
    const absl::Status status =
        Throwing([held]() -> absl::Status { throw std::shared_ptr<int>(held); })();
    kept = status;
  }
  EXPECT_TRUE(CarriesException<std::shared_ptr<int>>(kept));
  EXPECT_EQ(held.use_count(), 2);
  kept = absl::OkStatus();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace marpc
