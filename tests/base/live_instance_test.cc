#include "marpc/base/live_instance.h"

#include "gtest/gtest.h"

namespace marpc {
namespace {

class LiveInstanceTest : public ::testing::Test {
 protected:
  LiveInstance instance_{*Endpoint::Parse("a:1")};
  const MonotonicTime now_ = MonotonicTime::FromNanos(1'000'000'000);
};

TEST_F(LiveInstanceTest, EachChangeIsToldOnce) {
  EXPECT_FALSE(instance_.OnReachable());
  EXPECT_TRUE(instance_.OnUnreachable(now_));
  EXPECT_FALSE(instance_.OnUnreachable(now_));
  EXPECT_FALSE(instance_.reachable(now_));
  EXPECT_TRUE(instance_.OnReachable());
  EXPECT_FALSE(instance_.OnReachable());
  EXPECT_TRUE(instance_.reachable(now_));
}

TEST_F(LiveInstanceTest, RetiredItTellsOfNoChangeAnyMore) {
  EXPECT_TRUE(instance_.OnUnreachable(now_));
  EXPECT_TRUE(instance_.Retire());
  EXPECT_FALSE(instance_.OnUnreachable(now_));
  EXPECT_FALSE(instance_.OnReachable());
  EXPECT_FALSE(instance_.OnUnreachable(now_));
  EXPECT_FALSE(instance_.Retire());
}

TEST_F(LiveInstanceTest, RetiredWhileReachable) {
  EXPECT_FALSE(instance_.Retire());
  EXPECT_FALSE(instance_.OnUnreachable(now_));
}

TEST_F(LiveInstanceTest, NoticeOfItIsTakenOnceInTenSeconds) {
  EXPECT_TRUE(instance_.TakeNotice(now_));
  EXPECT_FALSE(instance_.TakeNotice(now_ + absl::Milliseconds(9999)));
  EXPECT_TRUE(instance_.TakeNotice(now_ + absl::Seconds(10)));
}

}  // namespace
}  // namespace marpc
