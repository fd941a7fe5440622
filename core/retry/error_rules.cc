#include "marpc/retry/error_rules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"

namespace marpc {
namespace {

constexpr absl::string_view kHttpStatusTypeUrl = "type.googleapis.com/marpc.HttpStatus";

// As systems write them.
constexpr std::array<absl::string_view, 5> kSystemErrors = {"ETIMEDOUT", "ECONNREFUSED",
                                                            "ECONNRESET", "ENOTFOUND", "EAI_AGAIN"};

template <typename List, typename T>
bool Contains(const List& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool AnyMatches(const std::vector<ErrorMatcher>& matchers, const absl::Status& error) {
  return std::any_of(matchers.begin(), matchers.end(),
                     [&](const ErrorMatcher& matcher) { return matcher.Matches(error); });
}

// Before its handler saw it, or with nobody to send it to.
bool WasTurnedAway(const ErrorInfo& info) {
  return info.reason() == reason::kOverloaded || info.reason() == reason::kRateLimited ||
         info.reason() == reason::kNoAvailableInstance;
}

bool IsNetworkFailure(const absl::Status& error) {
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  // Whoever knows who made the failure need not guess by its code.
  if (info.has_value()) {
    return info->origin() == ErrorInfo::NETWORK || WasTurnedAway(*info);
  }
  return absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error);
}

bool WasNotExecuted(const absl::Status& error) {
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  if (!info.has_value()) return false;
  if (info->attempts_size() == 0) {
    return WasTurnedAway(*info);
  }
  // An earlier attempt may have been executed where the last one was not.
  return std::all_of(info->attempts().begin(), info->attempts().end(),
                     [](const AttemptInfo& attempt) { return attempt.not_executed(); });
}

bool IsTransientHttpStatus(int status) {
  constexpr std::array kOnTheClientsSide = {408, 423, 425, 429, 449};
  return (status >= 500 && status <= 599) || Contains(kOnTheClientsSide, status);
}

bool IsTransientSystemError(const std::exception_ptr& thrown) {
  using std::errc;
  constexpr std::array kPassing = {errc::timed_out,        errc::connection_refused,
                                   errc::connection_reset, errc::connection_aborted,
                                   errc::host_unreachable, errc::network_unreachable,
                                   errc::network_down,     errc::network_reset,
                                   errc::broken_pipe,      errc::resource_unavailable_try_again,
                                   errc::not_connected};
  try {
    std::rethrow_exception(thrown);
  } catch (const std::system_error& error) {
    return std::any_of(kPassing.begin(), kPassing.end(),
                       [&](errc passing) { return error.code() == passing; });
  } catch (...) {
    return false;
  }
}

bool SpeaksOfTheNetwork(absl::string_view message) {
  constexpr std::array<absl::string_view, 8> kWords = {
      "network", "connection", "timeout", "unreachable", "refused", "reset", "socket", "dns"};
  const std::string lower = absl::AsciiStrToLower(message);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](absl::string_view word) { return absl::StrContains(lower, word); }) ||
         std::any_of(kSystemErrors.begin(), kSystemErrors.end(),
                     [&](absl::string_view name) { return absl::StrContains(message, name); });
}

bool IsTransient(const absl::Status& error) {
  if (const std::exception_ptr thrown = ExceptionOf(error); thrown != nullptr) {
    if (!IsException<std::exception>(thrown)) return false;
    if (IsTransientSystemError(thrown)) return true;
  }
  if (IsNetworkFailure(error) || absl::IsResourceExhausted(error)) return true;
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  return IsTransientHttpStatus(HttpStatusOf(error)) || SpeaksOfTheNetwork(error.message()) ||
         (info.has_value() && Contains(kSystemErrors, absl::string_view(info->reason())));
}

ErrorRules Retrying(ErrorMatcher matcher) {
  ErrorRules rules;
  rules.retry.push_back(std::move(matcher));
  return rules;
}

}  // namespace

ErrorMatcher ErrorMatcher::Any() {
  return When([](const absl::Status&) { return true; });
}

ErrorMatcher ErrorMatcher::Code(absl::StatusCode code) {
  return When([code](const absl::Status& error) { return error.code() == code; });
}

ErrorMatcher ErrorMatcher::Reason(std::string reason) {
  return When([reason = std::move(reason)](const absl::Status& error) {
    const std::optional<ErrorInfo> info = GetErrorInfo(error);
    return info.has_value() && info->reason() == reason;
  });
}

ErrorMatcher ErrorMatcher::Text(std::string part) {
  return When([part = std::move(part)](const absl::Status& error) {
    return absl::StrContains(error.message(), part);
  });
}

ErrorRules ErrorRules::Network() { return Retrying(ErrorMatcher::When(IsNetworkFailure)); }
ErrorRules ErrorRules::All() { return Retrying(ErrorMatcher::Any()); }
ErrorRules ErrorRules::IdempotentSafe() { return Retrying(ErrorMatcher::When(WasNotExecuted)); }
ErrorRules ErrorRules::Transient() { return Retrying(ErrorMatcher::When(IsTransient)); }

bool RefusedForGood(const absl::Status& error) {
  constexpr std::array kFinal = {reason::kCircuitBreakerOpen,
                                 reason::kCircuitBreakerRampUp,
                                 reason::kMessageTooLarge,
                                 reason::kBadMessage,
                                 reason::kBadPolicy,
                                 reason::kCancelled,
                                 reason::kClosed,
                                 reason::kTooManyCalls,
                                 reason::kRateExceeded,
                                 reason::kThrottled,
                                 reason::kDegraded,
                                 reason::kRetrySpent,
                                 reason::kRetryVetoed};
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  return info.has_value() && info->origin() == ErrorInfo::FRAMEWORK &&
         Contains(kFinal, absl::string_view(info->reason()));
}

absl::Status ErrorRules::Validate() const {
  const auto empty = [](const ErrorMatcher& matcher) { return matcher.empty(); };
  if (std::any_of(ignore.begin(), ignore.end(), empty) ||
      std::any_of(retry.begin(), retry.end(), empty)) {
    return absl::InvalidArgumentError("ErrorMatcher::When() was given an empty function");
  }
  return absl::OkStatus();
}

ErrorRules::Verdict ErrorRules::Judge(const absl::Status& error, ResultView result) const {
  if (error.ok()) {
    if (result.empty() || retry_result == nullptr) return {false, Rule::kNone};
    const bool again = retry_result(result);
    return {again, again ? Rule::kRetryResult : Rule::kNone};
  }
  if (RefusedForGood(error)) return {false, Rule::kRefused};
  if (AnyMatches(ignore, error)) return {false, Rule::kIgnore};
  if (AnyMatches(retry, error)) return {true, Rule::kRetry};
  const bool again = retry_error != nullptr && retry_error(error);
  return {again, again ? Rule::kRetryError : Rule::kNone};
}

absl::string_view RuleInWords(ErrorRules::Rule rule) {
  switch (rule) {
    case ErrorRules::Rule::kRefused:
      return "refused on this side: a retry would be too";
    case ErrorRules::Rule::kIgnore:
      return "listed among the errors to ignore";
    case ErrorRules::Rule::kRetry:
      return "listed among the errors to retry";
    case ErrorRules::Rule::kRetryError:
      return "the predicate wants the error retried";
    case ErrorRules::Rule::kRetryResult:
      return "the predicate wants the result retried";
    case ErrorRules::Rule::kNone:
      break;
  }
  return "no rule wants it retried";
}

void SetHttpStatus(absl::Status& error, int http_status) {
  error.SetPayload(kHttpStatusTypeUrl, absl::Cord(absl::StrCat(http_status)));
}

int HttpStatusOf(const absl::Status& error) {
  const absl::optional<absl::Cord> payload = error.GetPayload(kHttpStatusTypeUrl);
  int http_status;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &http_status)) return 0;
  return http_status;
}

}  // namespace marpc
