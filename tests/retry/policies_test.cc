#include "marpc/retry/policies.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/retry/grpc_retry_policy.h"
#include "marpc/retry/retry.h"
#include "tests/retry/virtual_time.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PoliciesTest : public ::testing::Test {
 protected:
  Retry With(std::vector<std::shared_ptr<RetryPolicy>> policies) {
    return Retry::With(std::move(policies)).Log(nullptr).Using(time_.environment());
  }
  // Attempts of an operation that always fails and takes `takes`.
  int Attempts(const Retry& retry, absl::Duration takes = absl::ZeroDuration()) {
    retry
        .Call(
            [&] {
              time_.clock.Advance(takes);
              return absl::UnavailableError("down");
            },
            {.report = &report_})
        .IgnoreError();
    return report_.attempts;
  }

  testing::VirtualTime time_;
  RetryReport report_;
  int calls_ = 0;
};

TEST_F(PoliciesTest, AttemptsCountTheFirstOneAndRetriesDoNot) {
  EXPECT_EQ(Attempts(With({MaxAttempts(3)})), 3);
  EXPECT_EQ(Attempts(With({MaxAttempts(1)})), 1);
  EXPECT_EQ(Attempts(With({MaxRetries(3)})), 4);
  EXPECT_EQ(Attempts(With({MaxRetries(0)})), 1);
}

TEST_F(PoliciesTest, WhatMarpcRefusedForGoodIsNotTriedAgainWhateverAPredicateWants) {
  const auto attempts = [&](const Retry& retry) {
    int calls = 0;
    const absl::Status status = retry.Call([&] {
      ++calls;
      return FrameworkError(absl::StatusCode::kUnavailable, reason::kCircuitBreakerOpen, "open");
    });
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    return calls;
  };
  EXPECT_EQ(attempts(With({RetryWhen([](const RetryContext&) { return true; }), MaxRetries(3)})),
            1);
  EXPECT_EQ(attempts(Retry::OnError().Max(3).Log(nullptr).Using(time_.environment())), 1);
  EXPECT_EQ(attempts(Retry::WhenStatus(absl::StatusCode::kUnavailable)
                         .Max(3)
                         .Log(nullptr)
                         .Using(time_.environment())),
            1);
}

TEST_F(PoliciesTest, NumbersWithoutASenseAreRefusedBeforeAnyCall) {
  for (const auto& policy :
       {MaxAttempts(0), MaxAttempts(-1), MaxRetries(-1), TotalTime(absl::ZeroDuration()), AnyOf({}),
        AnyOf({MaxAttempts(0)}), Budget(nullptr), Breaker(std::shared_ptr<SessionBreaker>()),
        Breaker(std::shared_ptr<CircuitBreaker>()), RetryWhen(nullptr),
        WaitBy(Backoff::Fixed(-absl::Seconds(1)))}) {
    int calls = 0;
    const absl::Status status = With({policy}).Call([&] { return ++calls, absl::OkStatus(); });
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << policy->name() << ": " << status;
    EXPECT_EQ(calls, 0);
  }
}

TEST_F(PoliciesTest, TotalTimeIsStrict) {
  EXPECT_EQ(Attempts(With({TotalTime(absl::Seconds(4))}), absl::Seconds(2)), 2);
  EXPECT_EQ(Attempts(With({TotalTime(absl::Seconds(4) + absl::Nanoseconds(1))}), absl::Seconds(2)),
            3);
}

TEST_F(PoliciesTest, TotalTimeStartsNoWaitThatReachesIt) {
  const auto wait = WaitBy(Backoff::Fixed(absl::Milliseconds(800)));
  EXPECT_EQ(Attempts(With({TotalTime(absl::Milliseconds(1500)), wait}), absl::Milliseconds(100)),
            2);
  EXPECT_THAT(report_.waits, ElementsAre(absl::Milliseconds(800)));
}

TEST_F(PoliciesTest, TotalTimeBoundsTheAttemptToo) {
  const MonotonicTime started = time_.clock.Now();
  With({MaxAttempts(1), TotalTime(absl::Seconds(4))})
      .Call([&](RetryContext& context) {
        EXPECT_EQ(context.attempt_deadline(), started + absl::Seconds(4));
        return absl::OkStatus();
      })
      .IgnoreError();
}

TEST_F(PoliciesTest, ABudgetIsTakenFromForRetriesAlone) {
  RetryBudgetSettings settings;
  settings.percent_can_retry = 0.5;
  settings.min_retries_per_sec = 0;
  settings.initial = 0;
  const auto budget = std::make_shared<RetryBudget>(settings, time_.clock.Now());
  const Retry retry = With({MaxAttempts(3), Budget(budget)});
  EXPECT_EQ(Attempts(retry), 1) << "half a retry is none";
  EXPECT_TRUE(report_.spent);
  EXPECT_THAT(report_.end_reason, HasSubstr("budget"));
  EXPECT_EQ(Attempts(retry), 2) << "one retry in two calls";
  EXPECT_DOUBLE_EQ(budget->Balance(time_.clock.Now()), 0);
}

TEST_F(PoliciesTest, ACancelledWaitGivesTheRetryBack) {
  RetryBudgetSettings settings;
  settings.percent_can_retry = 1;
  settings.min_retries_per_sec = 0;
  settings.initial = 0;
  const auto budget = std::make_shared<RetryBudget>(settings, time_.clock.Now());
  const auto cancel = std::make_shared<CancelSignal>();
  time_.on_sleep = [](MonotonicTime, CancelSignal* signal) { signal->Cancel(); };
  const Retry retry = With({MaxAttempts(3), Budget(budget)}).Sleep(absl::Seconds(1));
  const absl::Status status =
      retry.Call([] { return absl::UnavailableError("down"); }, {.cancel = cancel});
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_DOUBLE_EQ(budget->Balance(time_.clock.Now()), 1);
}

TEST_F(PoliciesTest, AThrottleHearsOfEveryAttemptAndStopsRetriesAtHalf) {
  RetryThrottleSettings settings;
  settings.max_tokens = 6;
  settings.token_ratio = 0.5;
  const auto throttle = std::make_shared<RetryThrottle>(settings);
  const Retry retry = With({MaxAttempts(9), Throttle(throttle)});
  EXPECT_EQ(Attempts(retry), 3) << "6, 5, 4, and at 3 no more";
  EXPECT_TRUE(report_.spent);
  EXPECT_THAT(report_.end_reason, HasSubstr("throttled"));
  EXPECT_TRUE(retry.Call([] { return absl::OkStatus(); }).ok());
  EXPECT_EQ(throttle->tokens(), 3.5);
  retry.Call([] { return absl::NotFoundError(""); }).IgnoreError();
  EXPECT_EQ(throttle->tokens(), 3.5) << "an answer to a bad request is no failure of the peer";
  With({MaxAttempts(9), Throttle(throttle)})
      .Call([](RetryContext& context) {
        context.RetryAfter(-absl::Seconds(1));
        return absl::NotFoundError("");
      })
      .IgnoreError();
  EXPECT_EQ(throttle->tokens(), 2.5) << "but a word against retries is";
  retry.Call([] { return absl::CancelledError(""); }).IgnoreError();
  EXPECT_EQ(throttle->tokens(), 2.5) << "a cancelled attempt says nothing";
  const auto all = [](const absl::Status&) { return true; };
  With({MaxAttempts(1), Throttle(throttle, all)})
      .Call([] { return absl::CancelledError(""); })
      .IgnoreError();
  EXPECT_EQ(throttle->tokens(), 1.5) << "unless it is said that it counts";
}

TEST_F(PoliciesTest, RulesJudgeErrorsAndResults) {
  ErrorRules rules;
  rules.ignore = {ErrorMatcher::Text("for good")};
  rules.retry = {ErrorMatcher::Code(absl::StatusCode::kUnavailable)};
  rules.retry_result = WhenResult<int>([](int n) { return n < 0; });
  const Retry retry = With({Classify(rules), MaxAttempts(3)});
  EXPECT_EQ(Attempts(retry), 3);
  retry.Call([] { return absl::UnavailableError("gone for good"); }, {.report = &report_})
      .IgnoreError();
  EXPECT_EQ(report_.attempts, 1);
  EXPECT_THAT(report_.end_reason, HasSubstr("ignore"));
  int n = -2;
  EXPECT_EQ(*retry.Call([&] { return n++; }, {.report = &report_}), 0);
  EXPECT_EQ(report_.attempts, 3);
}

TEST_F(PoliciesTest, AGrpcPolicyIsCheckedAndTurnedIntoAStack) {
  GrpcRetryPolicy policy;
  EXPECT_TRUE(absl::IsInvalidArgument(ToPolicies(policy).status()));
  policy = {.max_attempts = 9,
            .initial_backoff = absl::Milliseconds(100),
            .max_backoff = absl::Milliseconds(150),
            .backoff_multiplier = 2,
            .retryable_status_codes = {absl::StatusCode::kUnavailable}};
  EXPECT_EQ(Attempts(With(*ToPolicies(policy))), 5) << "never more than five";
  ASSERT_EQ(report_.waits.size(), 4u);
  EXPECT_GE(report_.waits[0], absl::Milliseconds(80));
  EXPECT_LE(report_.waits[3], absl::Milliseconds(180));
}

TEST_F(PoliciesTest, AGrpcPolicyThatShrinksOrIsCappedAtOnceCanBeUsed) {
  GrpcRetryPolicy policy = {.max_attempts = 4,
                            .initial_backoff = absl::Milliseconds(100),
                            .max_backoff = absl::Milliseconds(100),
                            .backoff_multiplier = 0.5,
                            .retryable_status_codes = {absl::StatusCode::kUnavailable}};
  EXPECT_EQ(Attempts(With(*ToPolicies(policy))), 4) << report_.end_reason;
  ASSERT_EQ(report_.waits.size(), 3u);
  EXPECT_GE(report_.waits[2], absl::Milliseconds(20));
  EXPECT_LE(report_.waits[2], absl::Milliseconds(30));
  policy.max_backoff = absl::Milliseconds(40);
  policy.backoff_multiplier = 2;
  EXPECT_EQ(Attempts(With(*ToPolicies(policy))), 4) << report_.end_reason;
  EXPECT_LE(report_.waits[0], absl::Milliseconds(48));
}

TEST_F(PoliciesTest, WhatIsNullIsRefusedBeforeAnyCall) {
  const auto refused = [this](const Retry& retry) {
    return absl::IsInvalidArgument(
        retry.Log(nullptr).Call([this] { return ++calls_, 1; }).status());
  };
  EXPECT_TRUE(refused(With({AnyOf({MaxAttempts(2), nullptr})})));
  EXPECT_TRUE(refused(Retry::OnError().Max(2).Listener(nullptr)));
  EXPECT_TRUE(refused(Retry::When(nullptr).Max(2)));
  EXPECT_TRUE(refused(Retry::WhenError(nullptr).Max(2)));
  EXPECT_TRUE(refused(Retry::WhenResult<int>(nullptr).Max(2)));
  ErrorRules rules;
  rules.ignore = {ErrorMatcher::When(nullptr)};
  EXPECT_TRUE(refused(With({Classify(rules), MaxAttempts(2)})));
  rules.ignore = {};
  rules.retry = {ErrorMatcher::When(nullptr)};
  EXPECT_TRUE(refused(With({Classify(rules), MaxAttempts(2)})));
  EXPECT_EQ(calls_, 0);
  EXPECT_FALSE(rules.Judge(absl::UnavailableError(""), ResultView()).retry);
  rules.retry_result = WhenResult<int>(nullptr);
  const int result = 0;
  EXPECT_FALSE(rules.Judge(absl::OkStatus(), ResultView(result)).retry);
}

TEST_F(PoliciesTest, AnyOfGoesOnWhileOneOfThemWould) {
  const auto any = AnyOf({MaxAttempts(3), TotalTime(absl::Milliseconds(100))});
  EXPECT_EQ(Attempts(With({any}), absl::Milliseconds(60)), 3) << "the count goes on";
  EXPECT_EQ(Attempts(With({any}), absl::Milliseconds(20)), 5) << "the time goes on";
}

TEST_F(PoliciesTest, AnyOfTakesWhatARetryCostsFromTheFirstThatAgrees) {
  RetryBudgetSettings settings;
  settings.percent_can_retry = 1;
  settings.min_retries_per_sec = 0;
  settings.initial = 0;
  const auto budget = std::make_shared<RetryBudget>(settings, time_.clock.Now());
  EXPECT_EQ(Attempts(With({AnyOf({MaxAttempts(2), Budget(budget)})})), 3);
  EXPECT_DOUBLE_EQ(budget->Balance(time_.clock.Now()), 0) << "only the second retry was paid";
}

TEST_F(PoliciesTest, OneSpentSessionOpensTheBreakerAndRejectionsDoNotProlongIt) {
  const auto breaker = std::make_shared<SessionBreaker>(absl::Seconds(10));
  const Retry retry = With({MaxAttempts(2), Breaker(breaker)});
  EXPECT_EQ(Attempts(retry), 2);
  for (int i = 0; i < 10; ++i) {
    const absl::Status rejected = retry.Call([] { return absl::OkStatus(); });
    ASSERT_TRUE(absl::IsUnavailable(rejected));
    EXPECT_EQ(GetErrorInfo(rejected)->reason(), reason::kCircuitBreakerOpen);
    time_.clock.Advance(absl::Seconds(1));
  }
  EXPECT_TRUE(breaker->IsOpen(time_.clock.Now())) << "at exactly its time it is still open";
  time_.clock.Advance(absl::Nanoseconds(1));
  EXPECT_TRUE(retry.Call([] { return absl::OkStatus(); }).ok());
}

TEST_F(PoliciesTest, TheRejectionSaysHowLongTheBreakerStaysOpen) {
  const auto breaker = std::make_shared<SessionBreaker>(absl::Seconds(10));
  breaker->Open(time_.clock.Now());
  time_.clock.Advance(absl::Seconds(4));
  const absl::Status rejected = With({Breaker(breaker)}).Call([] { return absl::OkStatus(); });
  EXPECT_EQ(GetErrorInfo(rejected)->retry_after().seconds(), 6);
}

TEST_F(PoliciesTest, ASuccessOnTheLastAttemptAndAFinalErrorLeaveTheBreakerClosed) {
  const auto breaker = std::make_shared<SessionBreaker>(absl::Seconds(10));
  int calls = 0;
  EXPECT_TRUE(With({Breaker(breaker), MaxAttempts(2)})
                  .Call([&] { return ++calls < 2 ? absl::UnavailableError("") : absl::OkStatus(); })
                  .ok());
  EXPECT_FALSE(breaker->IsOpen(time_.clock.Now()));
  Retry::WhenStatus(absl::StatusCode::kUnavailable)
      .Max(3)
      .Breaker(breaker)
      .Log(nullptr)
      .Using(time_.environment())
      .Call([] { return absl::NotFoundError(""); })
      .IgnoreError();
  EXPECT_FALSE(breaker->IsOpen(time_.clock.Now()));
}

TEST_F(PoliciesTest, ASessionWithoutAnAttemptLeavesTheBreakerClosed) {
  const auto breaker = std::make_shared<SessionBreaker>(absl::Seconds(10));
  const absl::Status late = With({MaxAttempts(2), Breaker(breaker)})
                                .Call([] { return absl::OkStatus(); },
                                      {.report = &report_, .deadline = time_.clock.Now()});
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_TRUE(report_.spent);
  EXPECT_EQ(report_.attempts, 0);
  EXPECT_FALSE(breaker->IsOpen(time_.clock.Now()));
}

TEST_F(PoliciesTest, ACancelledProbeDoesNotRefuseItsOwnRetry) {
  CircuitBreakerSettings settings;
  settings.enabled = true;
  settings.fault_limit = 1;
  const auto breaker = std::make_shared<CircuitBreaker>(settings);
  breaker->OnFailure(breaker->TryAcquire(time_.clock.Now()).permit, time_.clock.Now());
  time_.clock.Advance(settings.half_open_initial_delay);
  int calls = 0;
  const absl::Status status = With({MaxAttempts(2), Breaker(breaker)}).Call([&] {
    return ++calls < 2 ? absl::CancelledError("") : absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(calls, 2);
}

TEST_F(PoliciesTest, ACircuitBreakerIsAskedBeforeEveryAttempt) {
  CircuitBreakerSettings settings;
  settings.enabled = true;
  settings.fault_limit = 2;
  const auto breaker = std::make_shared<CircuitBreaker>(settings);
  const Retry retry = With({MaxAttempts(5), Breaker(breaker)});
  EXPECT_EQ(Attempts(retry), 2) << "it opened during the session";
  EXPECT_EQ(breaker->state(), BreakerState::kOpen);
  EXPECT_EQ(Attempts(retry), 0);
}

TEST_F(PoliciesTest, AnAnswerToABadRequestIsNoFailureOfThePeer) {
  CircuitBreakerSettings settings;
  settings.enabled = true;
  settings.fault_limit = 1;
  const auto breaker = std::make_shared<CircuitBreaker>(settings);
  With({MaxAttempts(3), Breaker(breaker)})
      .Call([] { return absl::NotFoundError(""); })
      .IgnoreError();
  EXPECT_EQ(breaker->state(), BreakerState::kClosed);
}

TEST_F(PoliciesTest, APermitOfACallThatDoesNotComeAboutGoesBack) {
  CircuitBreakerSettings settings;
  settings.enabled = true;
  settings.fault_limit = 1;
  const auto breaker = std::make_shared<CircuitBreaker>(settings);
  breaker->OnFailure(breaker->TryAcquire(time_.clock.Now()).permit, time_.clock.Now());
  time_.clock.Advance(settings.half_open_initial_delay);
  const auto closed = std::make_shared<SessionBreaker>(absl::Seconds(10));
  closed->Open(time_.clock.Now());
  EXPECT_EQ(Attempts(With({Breaker(breaker), Breaker(closed)})), 0);
  EXPECT_EQ(breaker->GetSnapshot(time_.clock.Now()).probes_out, 0);
}

TEST_F(PoliciesTest, AWaitOfOnesOwnGivesWayWhereItSaysNothing) {
  const auto own = [](const RetryContext& context) -> std::optional<absl::Duration> {
    if (context.attempt() == 1) return std::nullopt;
    if (context.attempt() == 2) return -absl::Seconds(1);
    return absl::Milliseconds(120);
  };
  Attempts(With({MaxRetries(3), WaitBy(own, Backoff::Fixed(absl::Milliseconds(2)))}));
  EXPECT_EQ(report_.waits, testing::Milliseconds({2, 2, 120}));
}

}  // namespace
}  // namespace marpc
