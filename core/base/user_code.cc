#include "marpc/base/user_code.h"

#include <exception>

#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"

namespace marpc {

std::string WhatWasThrown() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

absl::Status StatusOfException(absl::string_view who) {
  return FrameworkError(absl::StatusCode::kInternal, reason::kInternal,
                        absl::StrCat(who, " threw: ", WhatWasThrown()));
}

}  // namespace marpc
