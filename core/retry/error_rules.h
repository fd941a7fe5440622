// Which outcomes of a callable are tried again. (classifier.h answers the same for RPC.)
//
//   marpc::ErrorRules rules;
//   rules.ignore = {marpc::ErrorMatcher::Code(absl::StatusCode::kPermissionDenied)};
//   rules.retry = {marpc::ErrorMatcher::Exception<SqlError>(),
//                  marpc::ErrorMatcher::Text("deadlock")};
//   rules.retry_result = marpc::WhenResult<int>([](int rows) { return rows == 0; });
//
// In this order: what marpc itself has refused for good (RefusedForGood()) is never tried again;
// ignore wins over retry; retry wins over retry_error; what none of them knows stands. Where there
// is no error, retry_result alone is asked.
#ifndef MARPC_RETRY_ERROR_RULES_H_
#define MARPC_RETRY_ERROR_RULES_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "marpc/retry/exception_cause.h"
#include "marpc/retry/retry_context.h"
#include "marpc/retry/throwing.h"

namespace marpc {

// True of what a call of marpc's was refused with on this side, where another try would be, too: a
// breaker is open, a limit is reached, a message is too large, the level of the service leaves the
// method out, the consumer is closed, the caller has cancelled. Every retry that goes by outcomes
// asks it first.
bool RefusedForGood(const absl::Status& error);

// One kind of error. A value; thread-safe where its function is.
class ErrorMatcher {
 public:
  static ErrorMatcher Any();
  static ErrorMatcher Code(absl::StatusCode code);
  // ErrorInfo's reason (marpc/base/error.h).
  static ErrorMatcher Reason(std::string reason);
  // A part of the message, as it is written.
  static ErrorMatcher Text(std::string part);
  // An exception of that type, or derived from it (marpc/retry/throwing.h).
  template <typename E>
  static ErrorMatcher Exception() {
    return When(CarriesException<E>);
  }
  // The same, or one that was thrown because of one (std::throw_with_nested).
  template <typename E>
  static ErrorMatcher ExceptionOrCause() {
    return When(
        [](const absl::Status& error) { return IsExceptionOrCausedBy<E>(ExceptionOf(error)); });
  }
  static ErrorMatcher When(std::function<bool(const absl::Status&)> matches) {
    return ErrorMatcher(std::move(matches));
  }

  bool Matches(const absl::Status& error) const { return matches_ != nullptr && matches_(error); }
  // When() was given a null function: it matches nothing, and Classify() refuses it.
  bool empty() const { return matches_ == nullptr; }

 private:
  explicit ErrorMatcher(std::function<bool(const absl::Status&)> matches)
      : matches_(std::move(matches)) {}
  std::function<bool(const absl::Status&)> matches_;
};

struct ErrorRules {
  std::vector<ErrorMatcher> ignore;
  std::vector<ErrorMatcher> retry;
  // Asked for errors in neither list. Null: they stand.
  std::function<bool(const absl::Status&)> retry_error;
  // Asked for results; never for the lack of one (a null pointer, an empty optional). Null: they
  // stand.
  std::function<bool(ResultView)> retry_result;

  // Lost, refused or late calls: ErrorInfo of a network failure, UNAVAILABLE, DEADLINE_EXCEEDED.
  // The callable has to be idempotent.
  static ErrorRules Network();
  // Every error.
  static ErrorRules All();
  // Only what surely was not executed: a call that marpc could not send, or that was turned away,
  // at every attempt it made (AttemptInfo.not_executed).
  static ErrorRules IdempotentSafe();
  // What usually passes, told by whatever there is: the codes of Network() and RESOURCE_EXHAUSTED,
  // the system's error numbers (std::system_error), an HTTP status of 408, 423, 425, 429, 449 or
  // 500 to 599, a message that speaks of networks, connections, sockets, time outs or DNS, or a
  // reason such as ECONNRESET. What was thrown and is no std::exception is none of it.
  static ErrorRules Transient();

  // InvalidArgument where a matcher was given no function.
  absl::Status Validate() const;

  enum class Rule { kRefused, kIgnore, kRetry, kRetryError, kRetryResult, kNone };
  struct Verdict {
    bool retry;
    Rule rule;
  };
  // `error` is OK where there is a result, or nothing at all.
  Verdict Judge(const absl::Status& error, ResultView result) const;
};

// For logs: "listed in ignore" ...
absl::string_view RuleInWords(ErrorRules::Rule rule);

// A predicate for results of type T; others, and none, are not retried. Null for a null one.
template <typename T>
std::function<bool(ResultView)> WhenResult(std::function<bool(const T&)> predicate) {
  if (predicate == nullptr) return nullptr;
  return [predicate = std::move(predicate)](ResultView result) {
    const T* value = result.As<T>();
    return value != nullptr && predicate(*value);
  };
}

// For callables that speak HTTP: the answer's status, carried by the error that was made of it.
void SetHttpStatus(absl::Status& error, int http_status);
// 0: none.
int HttpStatusOf(const absl::Status& error);

}  // namespace marpc

#endif  // MARPC_RETRY_ERROR_RULES_H_
