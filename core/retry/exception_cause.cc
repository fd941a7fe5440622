#include "marpc/retry/exception_cause.h"

namespace marpc {

std::exception_ptr CauseOf(const std::exception_ptr& thrown) {
  if (thrown == nullptr) return nullptr;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::nested_exception& outer) {
    return outer.nested_ptr();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace marpc
