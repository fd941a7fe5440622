// Asks a retry's fallback. Used by retry.h and stateful_retry.h.
#ifndef MARPC_RETRY_RETRY_FALLBACK_H_
#define MARPC_RETRY_RETRY_FALLBACK_H_

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "marpc/retry/retry_report.h"
#include "marpc/retry/retry_result.h"
#include "marpc/retry/retry_session.h"
#include "marpc/retry/retry_spec.h"

namespace marpc::retry_internal {

struct NoFallback {};

// A ResultView sees an optional as what it holds.
template <typename T>
struct Unwrapped {
  using Type = T;
};
template <typename T>
struct Unwrapped<std::optional<T>> {
  using Type = T;
};

template <typename F>
decltype(auto) InvokeFallback(const F& fallback, const absl::Status& error, RetryContext& context) {
  if constexpr (std::is_invocable_v<const F&, const absl::Status&, RetryContext&>) {
    return std::invoke(fallback, error, context);
  } else if constexpr (std::is_invocable_v<const F&, const absl::Status&>) {
    return std::invoke(fallback, error);
  } else if constexpr (std::is_invocable_v<const F&, RetryContext&>) {
    return std::invoke(fallback, context);
  } else {
    static_assert(std::is_invocable_v<const F&>,
                  "a fallback takes (), (const absl::Status&), (RetryContext&) or "
                  "(const absl::Status&, RetryContext&), and is not mutable");
    return std::invoke(fallback);
  }
}

template <typename Answer>
struct Settled {
  Answer answer;
  bool fallback_ran = false;

  RetryReport::AnsweredBy answered_by() const {
    if (!answer.ok()) return RetryReport::AnsweredBy::kNone;
    return fallback_ran ? RetryReport::AnsweredBy::kFallback : RetryReport::AnsweredBy::kOperation;
  }
};

// `answer` is the last attempt's; none where there was no attempt. The context's result refers to
// it, so that it is moved from only where the fallback is not asked.
template <typename Answer, typename F>
Settled<Answer> AskFallback(const RetrySpec& spec, const F& fallback, RetrySession& session,
                            std::optional<Answer>& answer) {
  const absl::Status& error =
      session.error().ok() ? session.context().last_error() : session.error();
  if constexpr (!std::is_same_v<F, NoFallback>) {
    if (session.context().spent() && spec.MayFallBack(error)) {
      return {AnswerBy<Answer>([&]() -> decltype(auto) {
                return InvokeFallback(fallback, error, session.context());
              }),
              true};
    }
  }
  if (!session.error().ok()) return {session.error(), false};
  return {*std::move(answer), false};
}

}  // namespace marpc::retry_internal

#endif  // MARPC_RETRY_RETRY_FALLBACK_H_
