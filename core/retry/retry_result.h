// How what an operation returns becomes what a retry returns. An attempt may not come about at all
// (vetoed, cancelled, breaker open), so a retry always answers with a status:
//
// | the operation returns | the retry returns    | an error is                            |
// |-----------------------|----------------------|----------------------------------------|
// | absl::Status          | absl::Status         | a status that is not OK                |
// | absl::StatusOr<T>     | absl::StatusOr<T>    | the same                               |
// | void                  | absl::Status         | none; see Throwing()                   |
// | any other T           | absl::StatusOr<T>    | none; results are judged by predicates |
#ifndef MARPC_RETRY_RETRY_RESULT_H_
#define MARPC_RETRY_RETRY_RESULT_H_

#include <functional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "marpc/retry/retry_context.h"
#include "marpc/retry/retry_session.h"

namespace marpc::retry_internal {

// The result of an operation that gives none but its success.
struct Success {};
inline constexpr Success kSuccess;

template <typename T>
struct Returned {
  using Value = std::decay_t<T>;
  using Answer = absl::StatusOr<Value>;
};
template <typename T>
struct Returned<absl::StatusOr<T>> {
  using Value = T;
  using Answer = absl::StatusOr<T>;
};
template <>
struct Returned<absl::Status> {
  using Value = Success;
  using Answer = absl::Status;
};
template <>
struct Returned<void> : Returned<absl::Status> {};

// Calls `fn` with the context in front of `args` where it takes one.
template <typename Fn, typename... Args>
decltype(auto) InvokeWith(Fn& fn, RetryContext& context, Args&... args) {
  if constexpr (std::is_invocable_v<Fn&, RetryContext&, Args&...>) {
    return std::invoke(fn, context, args...);
  } else {
    static_assert(std::is_invocable_v<Fn&, Args&...>,
                  "the operation must take its arguments, and may take a RetryContext& first");
    return std::invoke(fn, args...);
  }
}

template <typename Fn, typename... Args>
using ResultOf = decltype(InvokeWith(std::declval<Fn&>(), std::declval<RetryContext&>(),
                                     std::declval<Args&>()...));
template <typename Fn, typename... Args>
using AnswerOf = typename Returned<std::remove_cvref_t<ResultOf<Fn, Args...>>>::Answer;
template <typename Answer>
using ValueOf = typename Returned<Answer>::Value;

// Whatever a callable returns, as an Answer.
template <typename Answer, typename Call>
Answer AnswerBy(Call&& call) {
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    return absl::OkStatus();
  } else {
    return call();
  }
}

inline RetryOutcome OutcomeOf(const absl::Status& answer) {
  return {answer, answer.ok() ? ResultView(kSuccess) : ResultView(), ""};
}
template <typename T>
RetryOutcome OutcomeOf(const absl::StatusOr<T>& answer) {
  return {answer.status(), answer.ok() ? ResultView(*answer) : ResultView(), ""};
}

inline const absl::Status& StatusOf(const absl::Status& answer) { return answer; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& answer) {
  return answer.status();
}

}  // namespace marpc::retry_internal

#endif  // MARPC_RETRY_RETRY_RESULT_H_
