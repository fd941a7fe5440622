#include "marpc/invoker/route_tree.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/loadbalance/round_robin.h"
#include "marpc/router/gray_router.h"
#include "tests/support/candidates.h"

namespace marpc {
namespace {

using ::testing::AllOf;
using testing::Candidates;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Pool 0: the instances whose name begins with `prefix`; pool 1: the others. Always chooses pool 0,
// and falls back to the other where told to.
class PrefixRouter final : public Router {
 public:
  PrefixRouter(std::string prefix, bool falls_back)
      : prefix_(std::move(prefix)), falls_back_(falls_back) {}
  absl::string_view name() const override { return "prefix"; }
  std::unique_ptr<RouteTable> Build(CandidateList candidates) override {
    auto table = std::make_unique<Table>();
    table->falls_back = falls_back_;
    for (const Candidate* candidate : candidates) {
      const bool mine = candidate->instance.endpoint.host().rfind(prefix_, 0) == 0;
      table->two[mine ? 0 : 1].push_back(candidate);
    }
    return table;
  }

 private:
  struct Table final : RouteTable {
    bool falls_back = false;
    std::vector<Pool> two = std::vector<Pool>(2);
    absl::Span<const Pool> pools() const override { return two; }
    int Choose(const RouteQuery&, int) const override { return 0; }
    int Fallback(int pool) const override { return pool == 0 && falls_back ? 1 : -1; }
    std::string Describe(int pool) const override { return pool == 0 ? "mine" : "others"; }
  };
  const std::string prefix_;
  const bool falls_back_;
};

std::shared_ptr<Router> Gray(int ratio) {
  GrayRouterSettings settings;
  settings.ratio = ratio;
  return GrayRouter::Create(settings).value();
}

class RouteTreeTest : public ::testing::Test {
 protected:
  void Build(std::vector<std::shared_ptr<Router>> routers, std::vector<std::string> names) {
    routers_ = std::move(routers);
    candidates_ = std::make_unique<Candidates>(std::move(names));
    tree_ = std::make_unique<RouteTree>(routers_, balancer_, candidates_->list());
  }
  // One call's picks, each without those before.
  std::vector<std::string> PickAll() {
    std::vector<std::string> names;
    std::vector<const LiveInstance*> tried;
    memo_ = {};
    fell_back_ = 0;
    while (true) {
      const RouteTree::Picked picked =
          tree_->Pick({method_, context_, random_},
                      {tried, random_, MonotonicTime::FromNanos(1), false}, memo_);
      if (picked.instance == nullptr) return names;
      fell_back_ += picked.fell_back ? 1 : 0;
      names.push_back(picked.instance->endpoint().host());
      tried.push_back(picked.instance);
    }
  }

  const Method method_;
  const RpcContext context_;
  SeededRandom random_{5};
  RoundRobin balancer_{0};
  std::vector<std::shared_ptr<Router>> routers_;
  std::unique_ptr<Candidates> candidates_;
  std::unique_ptr<RouteTree> tree_;
  RouteMemo memo_;
  int fell_back_ = 0;
};

TEST_F(RouteTreeTest, WithoutRoutersItIsTheBalancerAlone) {
  Build({}, {"a", "b"});
  EXPECT_THAT(PickAll(), ElementsAre("a", "b"));
  EXPECT_EQ(fell_back_, 0);
}

TEST_F(RouteTreeTest, EachRouterActsOnThePoolOfTheOneBefore) {
  Build({std::make_shared<PrefixRouter>("x", false), std::make_shared<PrefixRouter>("xx", false)},
        {"a", "xa", "xxb", "xxc", "xxa"});
  EXPECT_THAT(PickAll(), ElementsAre("xxb", "xxc", "xxa"));
}

TEST_F(RouteTreeTest, TheLastRoutersFallbackIsAskedFirst) {
  Build({std::make_shared<PrefixRouter>("x", true), std::make_shared<PrefixRouter>("xx", true)},
        {"a", "xa", "xxb"});
  EXPECT_THAT(PickAll(), ElementsAre("xxb", "xa", "a"));
  EXPECT_EQ(fell_back_, 2);
}

TEST_F(RouteTreeTest, AFallbackOfARouterAboveKeepsWhatTheCallDrewBelow) {
  // Normal in the first zone; the other zone has gray and normal ones.
  Build({std::make_shared<PrefixRouter>("x", true), Gray(0)}, {"xa", "xg*", "b", "g*"});
  EXPECT_THAT(PickAll(), ElementsAre("xa", "b")) << "a retry never enters gray";
  for (int i = 0; i < 50; ++i) {
    Build({std::make_shared<PrefixRouter>("x", true), Gray(50)}, {"xa", "xg*", "b", "g*"});
    const std::vector<std::string> picks = PickAll();
    if (picks[0] == "xa") {
      EXPECT_THAT(picks, ElementsAre("xa", "b"));
    } else {
      EXPECT_THAT(picks, ElementsAre("xg", "xa", "g", "b"));
    }
  }
}

TEST_F(RouteTreeTest, EveryInstanceIsReachedWhereAllRoutersFallBack) {
  Build({std::make_shared<PrefixRouter>("x", true), std::make_shared<PrefixRouter>("xy", true),
         Gray(100)},
        {"a", "b*", "xa", "xb*", "xya", "xyb*"});
  EXPECT_THAT(PickAll(), ElementsAre("xyb", "xya", "xb", "xa", "b", "a"));
}

TEST_F(RouteTreeTest, ExplainsHowTheCandidatesDwindled) {
  Build({std::make_shared<PrefixRouter>("q", false)}, {"a", "b", "c"});
  EXPECT_TRUE(PickAll().empty());
  EXPECT_THAT(tree_->Explain(memo_),
              AllOf(HasSubstr("3 known"), HasSubstr("prefix left 0"), HasSubstr("mine")));
}

TEST_F(RouteTreeTest, RoutersThatHadNoneToChooseFromAreNotExplained) {
  Build({Gray(30)}, {});
  EXPECT_TRUE(PickAll().empty());
  EXPECT_EQ(tree_->Explain(memo_), "0 known");
}

TEST_F(RouteTreeTest, AMemoOfANewerTableWithFewerPoolsIsDrawnAnew) {
  Build({Gray(100)}, {"a", "g*"});
  memo_.pools[0] = 100;
  const RouteTree::Picked picked =
      tree_->Pick({method_, context_, random_}, {{}, random_, MonotonicTime(), false}, memo_);
  EXPECT_EQ(picked.instance->endpoint().host(), "g");
}

}  // namespace
}  // namespace marpc
