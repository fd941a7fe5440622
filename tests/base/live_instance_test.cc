#include "marpc/base/live_instance.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class LiveInstanceTest : public ::testing::Test {
 protected:
  // For how long it is passed over from now on.
  absl::Duration Pause() const {
    absl::Duration pause;
    while (!instance_.reachable(now_ + pause)) pause += absl::Milliseconds(100);
    return pause;
  }

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

TEST_F(LiveInstanceTest, IsPassedOverForLongerAfterEachAttemptInVain) {
  instance_.OnUnreachable(now_);
  std::vector<absl::Duration> pauses = {Pause()};
  for (int i = 0; i < 8; ++i) {
    instance_.OnAttempt(now_);
    const absl::Duration meanwhile = Pause();
    instance_.OnUnreachable(now_);
    EXPECT_EQ(Pause(), meanwhile) << "by the others too, while the attempt is under way";
    pauses.push_back(meanwhile);
  }
  EXPECT_THAT(pauses, ElementsAre(absl::Milliseconds(100), absl::Milliseconds(200),
                                  absl::Milliseconds(400), absl::Milliseconds(800),
                                  absl::Milliseconds(1600), absl::Milliseconds(3200),
                                  absl::Seconds(5), absl::Seconds(5), absl::Seconds(5)));
  EXPECT_TRUE(instance_.OnReachable());
  EXPECT_TRUE(instance_.reachable(now_));
}

TEST_F(LiveInstanceTest, ATrialThatSaysNothingMakesRoomForTheNext) {
  instance_.OnUnreachable(now_);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(instance_.OnAttempt(now_));
    EXPECT_EQ(Pause(), absl::Milliseconds(200)) << "it does not count";
    instance_.OnTrialWithoutWord();
    EXPECT_TRUE(instance_.reachable(now_));
  }
  EXPECT_TRUE(instance_.OnReachable());
}

TEST_F(LiveInstanceTest, ManyAttemptsThatHangAtOnceAreOneFailure) {
  std::vector<absl::Duration> pauses;
  for (int i = 0; i < 20; ++i) {
    instance_.OnUnreachable(now_);
    pauses.push_back(Pause());
  }
  EXPECT_THAT(pauses, Each(absl::Milliseconds(100)));
}

TEST_F(LiveInstanceTest, AnAttemptChangesNothingOfOneThatIsReachable) {
  EXPECT_FALSE(instance_.OnAttempt(now_));
  instance_.OnTrialWithoutWord();
  EXPECT_TRUE(instance_.reachable(now_));
  EXPECT_TRUE(instance_.OnUnreachable(now_));
  EXPECT_EQ(Pause(), absl::Milliseconds(100));
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
