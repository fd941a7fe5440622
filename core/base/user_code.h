// Where code of the program's own throws: marpc itself throws nothing, and lets nothing through.
#ifndef MARPC_BASE_USER_CODE_H_
#define MARPC_BASE_USER_CODE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace marpc {

// To be called in a catch block: what was thrown, in words.
std::string WhatWasThrown();

// To be called in a catch block: INTERNAL with `who` threw what.
absl::Status StatusOfException(absl::string_view who);

}  // namespace marpc

#endif  // MARPC_BASE_USER_CODE_H_
