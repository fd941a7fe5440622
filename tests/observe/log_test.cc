#include "marpc/observe/log.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LogLevelTest : public ::testing::Test {
 protected:
  ~LogLevelTest() override {
    unsetenv("MARPC_LOG_LEVEL");
    SetLogger(nullptr);
  }

  // What a process says that starts with that level.
  std::string StartWith(const char* level) {
    setenv("MARPC_LOG_LEVEL", level, /*overwrite=*/1);
    ::testing::internal::CaptureStderr();
    SetLogger(nullptr);
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(LogLevelTest, AKnownLevelIsInForce) {
  EXPECT_THAT(StartWith("debug"), IsEmpty());
  EXPECT_EQ(Logger()->level(), spdlog::level::debug);
  EXPECT_THAT(StartWith("off"), IsEmpty());
  EXPECT_EQ(Logger()->level(), spdlog::level::off);
}

TEST_F(LogLevelTest, NoLevelIsWarn) {
  EXPECT_THAT(StartWith(""), IsEmpty());
  EXPECT_EQ(Logger()->level(), spdlog::level::warn);
}

TEST_F(LogLevelTest, AnUnknownLevelIsWarnedOfAndDoesNotSilenceTheLog) {
  EXPECT_THAT(StartWith("verbose"),
              AllOf(HasSubstr("MARPC_LOG_LEVEL is 'verbose'"),
                    HasSubstr("trace, debug, info, warn, error, critical and off")));
  EXPECT_EQ(Logger()->level(), spdlog::level::warn);
}

}  // namespace
}  // namespace marpc
