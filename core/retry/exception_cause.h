// What an exception is, and what it was thrown because of.
#ifndef MARPC_RETRY_EXCEPTION_CAUSE_H_
#define MARPC_RETRY_EXCEPTION_CAUSE_H_

#include <exception>

namespace marpc {

// Would a `catch (const E&)` catch it? Never for null.
template <typename E>
bool IsException(const std::exception_ptr& thrown) {
  if (thrown == nullptr) return false;
  try {
    std::rethrow_exception(thrown);
  } catch (const E&) {
    return true;
  } catch (...) {
    return false;
  }
}

// The exception that `thrown` was thrown with (std::throw_with_nested); null: none.
std::exception_ptr CauseOf(const std::exception_ptr& thrown);

// Is it an E, or was it thrown because of one, or because of what was thrown because of one ...?
template <typename E>
bool IsExceptionOrCausedBy(std::exception_ptr thrown) {
  while (thrown != nullptr && !IsException<E>(thrown)) thrown = CauseOf(thrown);
  return thrown != nullptr;
}

}  // namespace marpc

#endif  // MARPC_RETRY_EXCEPTION_CAUSE_H_
