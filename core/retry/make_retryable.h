// Functions with their retries built in, and retries that are ready-made.
//
//   auto charge = marpc::MakeRetryable(&ChargeCard, retry, "charge");
//   absl::Status status = charge(card, amount);
#ifndef MARPC_RETRY_MAKE_RETRYABLE_H_
#define MARPC_RETRY_MAKE_RETRYABLE_H_

#include <string>
#include <type_traits>
#include <utility>

#include "marpc/retry/retry.h"

namespace marpc {

// `fn` with its retries, called as `fn` is and safe to keep. Its arguments are handed to every
// attempt anew, so they are not moved into it. A function that returns neither a status nor a
// StatusOr gains one, since an attempt may not come about.
template <typename Fn, typename F>
auto MakeRetryable(Fn fn, const BasicRetry<F>& retry, std::string name) {
  return [fn = std::move(fn), retry = retry.Named(std::move(name))](auto&&... args)
             -> retry_internal::AnswerOf<const Fn, std::remove_reference_t<decltype(args)>...> {
    return retry.Call([&](RetryContext& context) -> decltype(auto) {
      return retry_internal::InvokeWith(fn, context, args...);
    });
  };
}

// Ready-made: up to 10 attempts, with a budget of their own (RetryBudgetSettings' defaults) that
// the copies of the value share; so make one and keep it.
Retry RetryOnError();
Retry RetryOnFalsy();
// The same with waits between 100 ms and a minute: the first 100 ms, then a draw from 100 ms to
// three times the one before.
Retry BackoffOnError();
Retry BackoffOnFalsy();

}  // namespace marpc

#endif  // MARPC_RETRY_MAKE_RETRYABLE_H_
