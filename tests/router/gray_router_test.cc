#include "marpc/router/gray_router.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/candidates.h"

namespace marpc {
namespace {

using testing::Candidates;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Every value below the bound in turn, counting how many were asked for.
class AllDice final : public RandomSource {
 public:
  double Uniform() override { return 0; }
  uint64_t Below(uint64_t bound) override { return rolls++ % bound; }
  uint64_t rolls = 0;
};

std::unique_ptr<RouteTable> Table(int ratio, const Candidates& candidates) {
  GrayRouterSettings settings;
  settings.ratio = ratio;
  return GrayRouter::Create(settings).value()->Build(candidates.list());
}

class GrayRouterTest : public ::testing::Test {
 protected:
  int Choose(const RouteTable& table, int remembered = -1) {
    return table.Choose({method_, context_, dice_}, remembered);
  }

  AllDice dice_;
  const Method method_;
  const RpcContext context_;
};

TEST_F(GrayRouterTest, SplitsTheListKeepingItsOrder) {
  const Candidates candidates({"d", "b*", "a", "c*"});
  const auto table = Table(50, candidates);
  EXPECT_THAT(Candidates::Names(table->pools()[GrayRouter::kNormal]), ElementsAre("d", "a"));
  EXPECT_THAT(Candidates::Names(table->pools()[GrayRouter::kGray]), ElementsAre("b", "c"));
}

TEST_F(GrayRouterTest, SendsExactlyTheRatioOfAHundredDicesToGray) {
  const Candidates candidates({"a", "b", "c*"});
  for (int ratio = 0; ratio <= 100; ++ratio) {
    const auto table = Table(ratio, candidates);
    int gray = 0;
    for (int i = 0; i < 100; ++i) gray += Choose(*table) == GrayRouter::kGray ? 1 : 0;
    EXPECT_EQ(gray, ratio);
  }
}

TEST_F(GrayRouterTest, ZeroAndHundredAreExactInALongRun) {
  const Candidates candidates({"a", "c*"});
  SeededRandom random(7);
  const auto never = Table(0, candidates);
  const auto always = Table(100, candidates);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(never->Choose({method_, context_, random}, -1), GrayRouter::kNormal);
    ASSERT_EQ(always->Choose({method_, context_, random}, -1), GrayRouter::kGray);
  }
}

TEST_F(GrayRouterTest, TheShareOfALongRunIsTheRatio) {
  const Candidates candidates({"a", "c*"});
  SeededRandom random(7);
  const auto table = Table(30, candidates);
  int gray = 0;
  for (int i = 0; i < 100'000; ++i) gray += table->Choose({method_, context_, random}, -1);
  EXPECT_NEAR(gray, 30'000, 500);
}

TEST_F(GrayRouterTest, DoesNotDrawWhereOneSideIsEmpty) {
  const Candidates normal({"a", "b"});
  const Candidates gray({"a*", "b*"});
  const Candidates none{std::vector<std::string>()};
  EXPECT_EQ(Choose(*Table(100, normal)), GrayRouter::kNormal);
  EXPECT_EQ(Choose(*Table(0, gray)), GrayRouter::kGray);
  EXPECT_THAT(Table(50, none)->pools()[Choose(*Table(50, none))], IsEmpty());
  EXPECT_EQ(dice_.rolls, 0u);
}

TEST_F(GrayRouterTest, ARetryKeepsTheSideOfItsCall) {
  const Candidates candidates({"a", "c*"});
  EXPECT_EQ(Choose(*Table(0, candidates), GrayRouter::kGray), GrayRouter::kGray);
  EXPECT_EQ(Choose(*Table(100, candidates), GrayRouter::kNormal), GrayRouter::kNormal);
  EXPECT_EQ(dice_.rolls, 0u);
}

TEST_F(GrayRouterTest, ARetryWhoseSideHasVanishedGoesToTheOther) {
  const Candidates normal({"a"});
  EXPECT_EQ(Choose(*Table(100, normal), GrayRouter::kGray), GrayRouter::kNormal);
}

TEST_F(GrayRouterTest, FallsBackFromGrayToNormalAndNeverTheReverse) {
  const Candidates candidates({"a", "c*"});
  const auto table = Table(50, candidates);
  EXPECT_EQ(table->Fallback(GrayRouter::kGray), GrayRouter::kNormal);
  EXPECT_EQ(table->Fallback(GrayRouter::kNormal), -1);
}

TEST_F(GrayRouterTest, DescribesItsSidesInWords) {
  const Candidates candidates({"a", "c*"});
  EXPECT_THAT(Table(30, candidates)->Describe(GrayRouter::kGray),
              ::testing::AllOf(HasSubstr("gray"), HasSubstr("30")));
}

TEST(GrayRouterSettingsTest, RefusesRatiosThatAreNoPercentage) {
  for (const int ratio : {-1, 101, 1000}) {
    GrayRouterSettings settings;
    settings.ratio = ratio;
    EXPECT_THAT(GrayRouter::Create(settings).status().message(),
                ::testing::AllOf(HasSubstr("router.gray.ratio"), HasSubstr(std::to_string(ratio))));
  }
}

}  // namespace
}  // namespace marpc
