#include "marpc/base/chained_cancel.h"

#include "gtest/gtest.h"

namespace marpc {
namespace {

TEST(ChainedCancelSignalTest, FollowsItsParent) {
  const auto parent = std::make_shared<CancelSignal>();
  ChainedCancelSignal one(parent);
  ChainedCancelSignal other(parent);
  parent->Cancel();
  EXPECT_TRUE(one.cancelled());
  EXPECT_TRUE(other.cancelled());
  ChainedCancelSignal later(parent);
  EXPECT_TRUE(later.cancelled());
}

TEST(ChainedCancelSignalTest, GoesOffAlone) {
  const auto parent = std::make_shared<CancelSignal>();
  ChainedCancelSignal one(parent);
  ChainedCancelSignal other(parent);
  one.Cancel();
  EXPECT_TRUE(one.cancelled());
  EXPECT_FALSE(parent->cancelled());
  EXPECT_FALSE(other.cancelled());
}

TEST(ChainedCancelSignalTest, TellsItsOwnObserverWhenTheParentGoesOff) {
  class Counting final : public CancelSignal::Observer {
   public:
    void OnCancel() override { ++told; }
    int told = 0;
  };
  const auto parent = std::make_shared<CancelSignal>();
  Counting observer;
  {
    ChainedCancelSignal signal(parent);
    ASSERT_TRUE(signal.Attach(&observer));
    parent->Cancel();
  }
  EXPECT_EQ(observer.told, 1);
}

TEST(ChainedCancelSignalTest, MayEndBeforeItsParent) {
  const auto parent = std::make_shared<CancelSignal>();
  { ChainedCancelSignal signal(parent); }
  parent->Cancel();  // reaches nobody
  EXPECT_EQ(parent.use_count(), 1);
}

TEST(ChainedCancelSignalTest, WithoutAParent) {
  ChainedCancelSignal signal(nullptr);
  EXPECT_FALSE(signal.cancelled());
  signal.Cancel();
  EXPECT_TRUE(signal.cancelled());
}

}  // namespace
}  // namespace marpc
