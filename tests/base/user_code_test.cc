#include "marpc/base/user_code.h"

#include <stdexcept>

#include "gtest/gtest.h"
#include "marpc/base/error.h"

namespace marpc {
namespace {

TEST(UserCodeTest, WhatWasThrownIsSaidWithItsThrower) {
  absl::Status status;
  try {
    throw std::runtime_error("no disk");
  } catch (...) {
    status = StatusOfException("the fallback 'cached'");
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "the fallback 'cached' threw: no disk");
  ASSERT_TRUE(GetErrorInfo(status).has_value());
  EXPECT_EQ(GetErrorInfo(status)->origin(), ErrorInfo::FRAMEWORK);
  EXPECT_EQ(GetErrorInfo(status)->reason(), reason::kInternal);
}

TEST(UserCodeTest, WhatIsNoExceptionIsCaughtToo) {
  absl::Status status;
  try {
    throw 42;
  } catch (...) {
    status = StatusOfException("a filter");
  }
  EXPECT_EQ(status.message(), "a filter threw: something that is no std::exception");
}

}  // namespace
}  // namespace marpc
