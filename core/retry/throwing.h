// For functions that throw: an adapter that turns the exception into a status which carries it.
//
//   absl::StatusOr<Row> row = marpc::Retry::OnError().Max(3).Call(marpc::Throwing(query));
//   std::exception_ptr thrown = marpc::ExceptionOf(row.status());
//   if (thrown != nullptr) std::rethrow_exception(thrown);
//
// The status has the code kUnknown and the text "<type>: <what>". It carries the exception wherever
// its copies go within this process, for as long as one of them lives.
#ifndef MARPC_RETRY_THROWING_H_
#define MARPC_RETRY_THROWING_H_

#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "marpc/retry/exception_cause.h"
#include "marpc/retry/retry_result.h"

namespace marpc {

// Null where `status` carries no exception.
std::exception_ptr ExceptionOf(const absl::Status& status);

// In a catch block: the exception that is being handled, as a status.
absl::Status StatusOfCurrentException();

// Throws what `status` carries, if anything.
void RethrowExceptionOf(const absl::Status& status);

// Does `status` carry an exception that a `catch (const E&)` would catch?
template <typename E>
bool CarriesException(const absl::Status& status) {
  return IsException<E>(ExceptionOf(status));
}

// `fn` with its arguments, a RetryContext& included; returns a status or StatusOr instead of
// throwing. Rethrowing is left to the caller. `fn` must not be mutable.
template <typename Fn>
auto Throwing(Fn fn) {
  return [fn = std::move(fn)](auto&&... args) ->
         typename retry_internal::Returned<
             std::remove_cvref_t<std::invoke_result_t<const Fn&, decltype(args)...>>>::Answer {
           using Answer = typename retry_internal::Returned<
               std::remove_cvref_t<std::invoke_result_t<const Fn&, decltype(args)...>>>::Answer;
           try {
             return retry_internal::AnswerBy<Answer>([&]() -> decltype(auto) {
               return std::invoke(fn, std::forward<decltype(args)>(args)...);
             });
           } catch (...) {
             return StatusOfCurrentException();
           }
         };
}

}  // namespace marpc

#endif  // MARPC_RETRY_THROWING_H_
