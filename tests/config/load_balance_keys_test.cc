// What the loader says of keys below loadBalance that do nothing.
#include "marpc/config/load_balance_keys.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/config/load.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> WarningsOf(const std::string& keys) {
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  options.known.load_balancers.push_back("my-own");
  const auto settings = ParseSettings(absl::StrCat("marpc: {", keys, "}"), "c.yaml", options);
  EXPECT_TRUE(settings.ok()) << settings.status();
  return warnings;
}

TEST(LoadBalanceKeysTest, KeysOfABalancerThatIsChosenAreFine) {
  for (const char* keys : {
           "loadbalancer: p2c, loadBalance: {choices: 3}",
           "loadbalancer: peak-ewma, loadBalance: {choices: 3, ewma: {decay: 1s}}",
           "loadbalancer: ring-hash, loadBalance: {hash: {key: k, boundedLoad: 0}, ring: {points: "
           "9}}",
           "loadbalancer: maglev, loadBalance: {hash: {field: f}, maglev: {tableSize: 101}}",
           "loadbalancer: my-own, loadBalance: {hash: {key: k}, choices: 5}",
           "loadBalance: {subset: {size: 5, index: 2}}",
           "loadBalance: {locality: {zone: z, weights: {local: 1}}}",
           "provider: {zone: z}, loadBalance: {locality: {weights: {local: 1}}}",
       }) {
    EXPECT_THAT(WarningsOf(keys), IsEmpty()) << keys;
  }
}

TEST(LoadBalanceKeysTest, KeysOfAnotherBalancerAreWarnedOf) {
  EXPECT_THAT(WarningsOf("loadBalance: {choices: 3}"),
              ElementsAre("loadBalance.choices has no effect: loadbalancer is roundrobin"));
  EXPECT_THAT(WarningsOf("loadbalancer: p2c, loadBalance: {ewma: {decay: 1s}}"),
              ElementsAre("loadBalance.ewma has no effect: loadbalancer is p2c"));
  EXPECT_THAT(WarningsOf("loadbalancer: random, loadBalance: {hash: {key: k}}"),
              ElementsAre("loadBalance.hash has no effect: loadbalancer is random"));
  EXPECT_THAT(WarningsOf("loadbalancer: maglev, loadBalance: {hash: {key: k}, ring: {points: 9}}"),
              ElementsAre("loadBalance.ring has no effect: loadbalancer is maglev"));
  EXPECT_THAT(WarningsOf("loadBalance: {maglev: {tableSize: 101}}"),
              ElementsAre("loadBalance.maglev has no effect: loadbalancer is roundrobin"));
}

TEST(LoadBalanceKeysTest, AHashWithoutAKeyIsWarnedOf) {
  EXPECT_THAT(WarningsOf("loadbalancer: ring-hash"),
              ElementsAre(HasSubstr("loadbalancer ring-hash has no key to go by")));
  EXPECT_THAT(WarningsOf("loadbalancer: maglev"),
              ElementsAre(HasSubstr("loadbalancer maglev has no key to go by")));
}

TEST(LoadBalanceKeysTest, HalfAZoneOrSubsetIsWarnedOf) {
  EXPECT_THAT(WarningsOf("loadBalance: {subset: {index: 2}}"),
              ElementsAre(HasSubstr("subset.index has no effect")));
  EXPECT_THAT(WarningsOf("loadBalance: {locality: {zone: z}}"),
              ElementsAre(HasSubstr("locality.zone has no effect")));
  EXPECT_THAT(WarningsOf("loadBalance: {locality: {weights: {local: 1}}}"),
              ElementsAre(HasSubstr("names `local`, and neither")));
}

TEST(LoadBalanceKeysTest, IsSaidOnceAtTheLevelThatSaysIt) {
  EXPECT_THAT(WarningsOf("loadBalance: {choices: 3}, services: {a.S: {retry: {maxRetries: 1}}}"),
              ElementsAre("loadBalance.choices has no effect: loadbalancer is roundrobin"));
  EXPECT_THAT(WarningsOf("services: {a.S: {loadBalance: {choices: 3}}}"),
              ElementsAre("services.a.S.loadBalance.choices has no effect: loadbalancer is "
                          "roundrobin"));
  EXPECT_THAT(
      WarningsOf("loadbalancer: p2c, loadBalance: {choices: 3}, services: {a.S: {loadbalancer: "
                 "random}}"),
      ElementsAre("services.a.S.loadBalance.choices has no effect: loadbalancer is random"));
}

TEST(LoadBalanceKeysTest, ABoundBelowOneLeavesNoRoomForAll) {
  for (const char* bound : {"0.5", "-1", "101", "nan"}) {
    const auto settings = ParseSettings(
        absl::StrCat("marpc: {loadBalance: {hash: {boundedLoad: ", bound, "}}}"), "c.yaml");
    ASSERT_FALSE(settings.ok()) << bound;
    EXPECT_THAT(std::string(settings.status().message()),
                HasSubstr("loadBalance.hash.boundedLoad: expected 0, or a number from 1 to 100"));
  }
}

}  // namespace
}  // namespace marpc
