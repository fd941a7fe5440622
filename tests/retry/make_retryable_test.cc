#include "marpc/retry/make_retryable.h"

#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/retry/retry_fixture.h"

namespace marpc {
namespace {

class MakeRetryableTest : public testing::RetryFixture {};

int Twice(int n) { return 2 * n; }

TEST_F(MakeRetryableTest, AWrappedFunctionIsCalledLikeTheFunction) {
  auto twice = MakeRetryable(&Twice, Under(Retry::OnError()).Max(3), "twice");
  EXPECT_EQ(*twice(4), 8);
  auto append = MakeRetryable(
      [&](RetryContext& context, std::string& to, const std::string& what) -> absl::Status {
        to += what;
        EXPECT_EQ(context.operation(), "append");
        return context.attempt() < 3 ? absl::UnavailableError("") : absl::OkStatus();
      },
      Under(Retry::OnError()).Max(3), "append");
  std::string text;
  EXPECT_TRUE(append(text, "ab").ok());
  EXPECT_EQ(text, "ababab") << "every attempt has all arguments";
  std::function<absl::Status(std::string&, const std::string&)> kept = append;
  EXPECT_TRUE(kept(text, "c").ok());
}

TEST_F(MakeRetryableTest, TheAliasesAreReadyMade) {
  EXPECT_EQ(*Under(RetryOnError()).Call([&] { return calls_++; }), 0u) << "a result is final";
  calls_ = 0;
  EXPECT_TRUE(Under(RetryOnError()).Call(Failing({absl::StatusCode::kInternal})).ok());
  EXPECT_EQ(*Under(RetryOnFalsy()).Call([&] { return ++calls_ > 4; }), true);
  EXPECT_FALSE(Under(RetryOnFalsy())
                   .Call([]() -> absl::StatusOr<bool> { return absl::InternalError(""); },
                         {.report = &report_})
                   .ok());
  EXPECT_EQ(report_.attempts, 1);
  for (const Retry& retry : {BackoffOnError(), RetryOnError()}) {
    Under(retry).Call([] { return absl::InternalError(""); }, {.report = &report_}).IgnoreError();
    EXPECT_EQ(report_.attempts, 10);
  }
  EXPECT_EQ(report_.waits.front(), absl::ZeroDuration());
  *Under(BackoffOnFalsy()).Call([] { return 0; }, {.report = &report_});
  EXPECT_EQ(report_.attempts, 10);
  for (const absl::Duration wait : report_.waits) EXPECT_GE(wait, absl::Milliseconds(100));
}

}  // namespace
}  // namespace marpc
