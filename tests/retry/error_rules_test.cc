#include "marpc/retry/error_rules.h"

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "marpc/base/error.h"

namespace marpc {
namespace {

using Rule = ErrorRules::Rule;

absl::Status Caused(absl::string_view reason, ErrorInfo::Origin origin) {
  absl::Status error = absl::UnavailableError("x");
  ErrorInfo info;
  info.set_origin(origin);
  info.set_reason(std::string(reason));
  SetErrorInfo(error, info);
  return error;
}

template <typename E>
absl::Status Thrown(const E& exception) {
  try {
    throw exception;
  } catch (...) {
    return StatusOfCurrentException();
  }
}

bool Retries(const ErrorRules& rules, const absl::Status& error) {
  return rules.Judge(error, ResultView()).retry;
}

Rule RuleFor(const ErrorRules& rules, const absl::Status& error) {
  return rules.Judge(error, ResultView()).rule;
}

TEST(ErrorRulesTest, IgnoreWinsOverRetryAndRetryOverThePredicate) {
  ErrorRules rules;
  int asked = 0;
  rules.ignore = {ErrorMatcher::Code(absl::StatusCode::kNotFound)};
  rules.retry = {ErrorMatcher::Code(absl::StatusCode::kNotFound),
                 ErrorMatcher::Code(absl::StatusCode::kAborted)};
  rules.retry_error = [&](const absl::Status& error) {
    ++asked;
    return error.message() == "again";
  };
  EXPECT_EQ(RuleFor(rules, absl::NotFoundError("again")), Rule::kIgnore);
  EXPECT_EQ(RuleFor(rules, absl::AbortedError("x")), Rule::kRetry);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(RuleFor(rules, absl::UnknownError("again")), Rule::kRetryError);
  EXPECT_FALSE(Retries(rules, absl::UnknownError("x")));
  EXPECT_EQ(asked, 2);
}

TEST(ErrorRulesTest, TheResultIsAskedAboutOnlyWhereThereIsOneAndNoError) {
  ErrorRules rules;
  rules.retry_result = [](ResultView) { return true; };
  const int result = 5;
  EXPECT_EQ(rules.Judge(absl::OkStatus(), ResultView(result)).rule, Rule::kRetryResult);
  EXPECT_FALSE(rules.Judge(absl::OkStatus(), ResultView()).retry);
  EXPECT_FALSE(rules.Judge(absl::AbortedError("x"), ResultView(result)).retry);
  EXPECT_FALSE(ErrorRules::All().Judge(absl::OkStatus(), ResultView(result)).retry);
}

TEST(ErrorRulesTest, APredicateOfATypeAnswersForThatTypeAlone) {
  ErrorRules rules;
  rules.retry_result = WhenResult<int>([](int rows) { return rows == 0; });
  const int none = 0;
  const int some = 1;
  const double other = 0;
  EXPECT_TRUE(rules.Judge(absl::OkStatus(), ResultView(none)).retry);
  EXPECT_FALSE(rules.Judge(absl::OkStatus(), ResultView(some)).retry);
  EXPECT_FALSE(rules.Judge(absl::OkStatus(), ResultView(other)).retry);
}

TEST(ErrorRulesTest, MatchersKnowCodesReasonsAndTexts) {
  const absl::Status error = Caused("OVERLOADED", ErrorInfo::FRAMEWORK);
  EXPECT_TRUE(ErrorMatcher::Code(absl::StatusCode::kUnavailable).Matches(error));
  EXPECT_FALSE(ErrorMatcher::Code(absl::StatusCode::kUnknown).Matches(error));
  EXPECT_TRUE(ErrorMatcher::Reason("OVERLOADED").Matches(error));
  EXPECT_FALSE(ErrorMatcher::Reason("OTHER").Matches(error));
  EXPECT_FALSE(ErrorMatcher::Reason("OTHER").Matches(absl::UnknownError("OTHER")));
  EXPECT_TRUE(ErrorMatcher::Text("dead").Matches(absl::UnknownError("a deadlock")));
  EXPECT_FALSE(ErrorMatcher::Text("Dead").Matches(absl::UnknownError("a deadlock")));
}

TEST(ErrorRulesTest, MatchersKnowTheTypeOfWhatWasThrown) {
  const absl::Status error = Thrown(std::out_of_range("no such key"));
  EXPECT_TRUE(ErrorMatcher::Exception<std::out_of_range>().Matches(error));
  EXPECT_TRUE(ErrorMatcher::Exception<std::logic_error>().Matches(error));
  EXPECT_FALSE(ErrorMatcher::Exception<std::runtime_error>().Matches(error));
  EXPECT_FALSE(ErrorMatcher::Exception<std::exception>().Matches(absl::UnknownError("x")));
}

absl::Status ThrownBecauseOfARangeError() {
  try {
    try {
      throw std::range_error("cause");
    } catch (...) {
      std::throw_with_nested(std::logic_error("outer"));
    }
  } catch (...) {
    return StatusOfCurrentException();
  }
}

TEST(ErrorRulesTest, MatchersFindACauseWhereTheyAreToldTo) {
  const absl::Status error = ThrownBecauseOfARangeError();
  EXPECT_FALSE(ErrorMatcher::Exception<std::range_error>().Matches(error));
  EXPECT_TRUE(ErrorMatcher::ExceptionOrCause<std::range_error>().Matches(error));
  EXPECT_TRUE(ErrorMatcher::ExceptionOrCause<std::logic_error>().Matches(error));
  EXPECT_FALSE(ErrorMatcher::ExceptionOrCause<std::bad_alloc>().Matches(error));
}

TEST(ErrorRulesTest, WhatMarpcRefusesForGoodIsNeverRetried) {
  ErrorRules rules = ErrorRules::All();
  rules.retry_error = [](const absl::Status&) { return true; };
  for (const absl::string_view reason :
       {reason::kCircuitBreakerOpen, reason::kCircuitBreakerRampUp, reason::kMessageTooLarge,
        reason::kBadMessage, reason::kBadPolicy, reason::kCancelled, reason::kClosed,
        reason::kTooManyCalls, reason::kRateExceeded, reason::kThrottled, reason::kDegraded,
        reason::kRetrySpent, reason::kRetryVetoed}) {
    EXPECT_EQ(RuleFor(rules, Caused(reason, ErrorInfo::FRAMEWORK)), Rule::kRefused) << reason;
  }
  EXPECT_TRUE(Retries(rules, Caused(reason::kOverloaded, ErrorInfo::FRAMEWORK)));
}

TEST(ErrorRulesTest, NetworkRetriesWhatWasLostAndLate) {
  const ErrorRules rules = ErrorRules::Network();
  EXPECT_TRUE(Retries(rules, absl::UnavailableError("x")));
  EXPECT_TRUE(Retries(rules, absl::DeadlineExceededError("x")));
  EXPECT_TRUE(Retries(rules, Caused(reason::kConnection, ErrorInfo::NETWORK)));
  EXPECT_FALSE(Retries(rules, Caused(reason::kHandler, ErrorInfo::BUSINESS)))
      << "a handler's UNAVAILABLE";
  EXPECT_FALSE(Retries(rules, absl::InternalError("connection refused")));
}

TEST(ErrorRulesTest, IdempotentSafeRetriesOnlyWhatWasNotExecuted) {
  const ErrorRules rules = ErrorRules::IdempotentSafe();
  EXPECT_TRUE(Retries(rules, Caused(reason::kOverloaded, ErrorInfo::FRAMEWORK)));
  EXPECT_TRUE(Retries(rules, Caused(reason::kNoAvailableInstance, ErrorInfo::FRAMEWORK)));
  EXPECT_FALSE(Retries(rules, Caused(reason::kDeadline, ErrorInfo::NETWORK)));
  EXPECT_FALSE(Retries(rules, absl::UnavailableError("x")));
}

TEST(ErrorRulesTest, IdempotentSafeLooksAtEveryAttempt) {
  const auto lost = [](std::vector<bool> not_executed) {
    ErrorInfo info;
    info.set_origin(ErrorInfo::NETWORK);
    info.set_reason(std::string(reason::kConnection));
    for (const bool one : not_executed) info.add_attempts()->set_not_executed(one);
    absl::Status error = absl::UnavailableError("x");
    SetErrorInfo(error, info);
    return error;
  };
  const ErrorRules rules = ErrorRules::IdempotentSafe();
  EXPECT_TRUE(Retries(rules, lost({true})));
  EXPECT_TRUE(Retries(rules, lost({true, true})));
  EXPECT_FALSE(Retries(rules, lost({false, true}))) << "the first may have been executed";
  EXPECT_FALSE(Retries(rules, lost({true, false})));
}

TEST(ErrorRulesTest, TransientGoesByCodesTextsHttpStatusesAndErrorNumbers) {
  const ErrorRules rules = ErrorRules::Transient();
  EXPECT_TRUE(Retries(rules, absl::ResourceExhaustedError("x")));
  EXPECT_TRUE(Retries(rules, absl::InternalError("Socket hang up")));
  EXPECT_TRUE(Retries(rules, absl::InternalError("getaddrinfo ENOTFOUND db")));
  EXPECT_FALSE(Retries(rules, absl::InternalError("getaddrinfo enotfound db")));
  EXPECT_FALSE(Retries(rules, absl::InternalError("file not found")));
  const std::vector<std::pair<int, bool>> http = {{408, true}, {429, true},  {500, true},
                                                  {599, true}, {400, false}, {600, false}};
  for (const auto& [http_status, retries] : http) {
    absl::Status error = absl::UnknownError("answer");
    SetHttpStatus(error, http_status);
    EXPECT_EQ(Retries(rules, error), retries) << http_status;
  }
  EXPECT_TRUE(Retries(rules, Thrown(std::system_error(ETIMEDOUT, std::generic_category(), "q"))));
  EXPECT_FALSE(Retries(rules, Thrown(std::system_error(ENOENT, std::generic_category(), "q"))));
  EXPECT_TRUE(Retries(rules, Thrown(std::runtime_error("connection lost"))));
  EXPECT_FALSE(Retries(rules, Thrown(5))) << "nothing is known of it";
}

}  // namespace
}  // namespace marpc
