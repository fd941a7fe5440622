#include "marpc/base/even_share.h"

#include "gtest/gtest.h"

namespace marpc {
namespace {

TEST(EvenShare, LetsExactlyItsShareThrough) {
  for (const int one_of : {1, 2, 3, 7, 10, 1000}) {
    EvenShare share;
    share.StartOver(1.0 / one_of);
    int through = 0;
    for (int i = 0; i < 10 * one_of; ++i) {
      const bool taken = share.Take(1.0 / one_of);
      EXPECT_TRUE(taken || i > 0) << "the first is let through";
      through += taken ? 1 : 0;
    }
    EXPECT_EQ(through, 10) << one_of;
  }
}

TEST(EvenShare, ReckonsWhichOneIsNext) {
  for (const double part : {1.0, 0.9, 0.5, 0.3, 0.1, 0.017, 0.0001}) {
    EvenShare share, likewise;
    for (int round = 0; round < 20; ++round) {
      const uint64_t expected = share.TakesUntilThrough(part);
      uint64_t takes = 1;
      while (!share.Take(part)) ++takes;
      EXPECT_EQ(takes, expected) << part;
      likewise.TakeTimes(part, expected);
      EXPECT_EQ(likewise.TakesUntilThrough(part), share.TakesUntilThrough(part)) << part;
    }
  }
}

}  // namespace
}  // namespace marpc
