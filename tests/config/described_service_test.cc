// What is said of the values that all methods of a service share.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/config/effective_policy.h"
#include "marpc/config/keys.h"
#include "marpc/config/load.h"

namespace marpc {
namespace {

Settings Parsed(const std::string& yaml) {
  absl::StatusOr<Settings> settings = ParseSettings(yaml, "shop.yaml");
  EXPECT_TRUE(settings.ok()) << settings.status();
  return settings.value_or(Settings());
}

PolicyDescription Described(const Settings& settings) {
  Method method;
  method.service = "acme.Shop";
  method.name = "Buy";
  method.full_name = "acme.Shop/Buy";
  const EffectivePolicy policy = EffectivePolicyOf(method, settings);
  EXPECT_TRUE(policy.status.ok()) << policy.status;
  return DescribePolicy(method, policy.settings, settings);
}

// "random | shop.yaml:2:3, at the top"
std::string InForce(const Settings& settings, absl::string_view key) {
  const PolicyDescription description = Described(settings);
  const PolicyDescription::Entry* entry = description.Find(key);
  return entry == nullptr ? "no such key" : absl::StrCat(entry->value, " | ", entry->from);
}

TEST(DescribedServiceTest, TheServicesOwnValueWinsOverTheTopsAndEachSaysWhereItStands) {
  const std::string top =
      "marpc:\n"
      "  loadbalancer: random\n"
      "  outlier: {enabled: true, interval: 7s}\n"
      "  circuitbreaker: {scope: [instance], activeProbe: true}\n";
  const std::string service =
      "  services:\n"
      "    acme.Shop:\n"
      "      loadbalancer: p2c\n"
      "      outlier.interval: 8s\n"
      "      circuitbreaker: {scope: [method, instance]}\n";
  EXPECT_EQ(InForce(Parsed("marpc:"), "loadbalancer"), "roundrobin | default");
  EXPECT_EQ(InForce(Parsed(top), "loadbalancer"), "random | shop.yaml:2:3, at the top");
  EXPECT_EQ(InForce(Parsed(top), "circuitbreaker.activeProbe"),
            "true | shop.yaml:4:39, at the top");
  const Settings both =
      ParseSettings(top + service, "shop.yaml", {.known = {.load_balancers = {"random", "p2c"}}})
          .value();
  EXPECT_EQ(InForce(both, "loadbalancer"), "p2c | shop.yaml:7:7, in a service");
  EXPECT_EQ(InForce(both, "outlier.enabled"), "true | shop.yaml:3:13, at the top");
  EXPECT_EQ(InForce(both, "outlier.interval"), "8s | shop.yaml:8:7, in a service");
  EXPECT_EQ(InForce(both, "circuitbreaker.scope"),
            "[method, instance] | shop.yaml:9:24, in a service");
}

// A method with keys of its own has its service's values all the same.
TEST(DescribedServiceTest, AMethodsOwnSectionTakesNothingOfItsServiceAway) {
  const Settings settings = Parsed(
      "marpc:\n"
      "  services:\n"
      "    acme.Shop:\n"
      "      slowStart.window: 5s\n"
      "      methods:\n"
      "        Buy: {retry.maxRetries: 1}\n");
  EXPECT_EQ(InForce(settings, "slowStart.window"), "5s | shop.yaml:4:7, in a service");
  EXPECT_EQ(InForce(settings, "retry.maxRetries"), "1 | shop.yaml:6:15, in a method");
}

TEST(DescribedServiceTest, AnotherServicesValuesAreNotThisOnes) {
  const Settings settings =
      Parsed("marpc: {services: {acme.Stock: {router.gray: {enabled: true, ratio: 20}}}}");
  EXPECT_EQ(InForce(settings, "router.gray.enabled"), "false | default");
}

TEST(DescribedServiceTest, WhatCodeChangedInTheSettingsIsOfCode) {
  Settings settings = Parsed("marpc: {healthCheck: {enabled: true}, loadbalancer: random}");
  settings.service_defaults.load_balancer = "roundrobin";
  settings.service_defaults.degradation_level = DegradationLevel::kCoreOnly;
  settings.method_defaults.circuit_breaker.scope.instance = true;
  EXPECT_EQ(InForce(settings, "loadbalancer"), "roundrobin | code");
  EXPECT_EQ(InForce(settings, "degradation.level"), "core-only | code");
  EXPECT_EQ(InForce(settings, "circuitbreaker.scope"), "[service, instance] | code");
  EXPECT_EQ(InForce(settings, "healthCheck.enabled"), "true | shop.yaml:1:23, at the top");
}

TEST(DescribedServiceTest, EveryKeyThatAServiceOrAMethodMayGiveIsThereOnce) {
  const PolicyDescription description = Described(Settings());
  std::vector<std::string> described, expected;
  for (const auto* group : {&description.entries, &description.service_entries}) {
    for (const auto& entry : *group) described.push_back(entry.key);
  }
  for (const Key& key : Keys()) {
    if (key.AllowedAt(Level::kService) || key.AllowedAt(Level::kMethod)) {
      expected.push_back(key.name);
    }
  }
  EXPECT_THAT(described, ::testing::UnorderedElementsAreArray(expected));
}

// Each key's own example, at the top and in the service: none is left behind by the reader.
TEST(DescribedServiceTest, EveryServiceKeySaysTheLineThatGaveIt) {
  for (const PolicyDescription::Entry& entry : Described(Settings()).service_entries) {
    EXPECT_EQ(entry.from, "default") << entry.key;
    const std::string given = absl::StrCat(entry.key, ": ", FindKey(entry.key)->example, "\n");
    EXPECT_THAT(InForce(Parsed(absl::StrCat("marpc:\n  ", given)), entry.key),
                ::testing::AllOf(::testing::EndsWith(" | shop.yaml:2:3, at the top"),
                                 ::testing::Not(::testing::StartsWith(entry.value + " |"))));
    EXPECT_THAT(InForce(Parsed(absl::StrCat("marpc:\n  services:\n    acme.Shop:\n      ", given)),
                        entry.key),
                ::testing::EndsWith(" | shop.yaml:4:7, in a service"));
  }
}

TEST(DescribedServiceTest, TheTextHasTheMethodsKeysFirstAndThenItsServices) {
  const std::string text = Described(Settings()).ToText();
  const size_t service = text.find("\nservice acme.Shop\n");
  ASSERT_NE(service, std::string::npos) << text;
  EXPECT_TRUE(absl::StartsWith(text, "acme.Shop/Buy\n  retry.maxRetries"));
  EXPECT_LT(text.find("\n  circuitbreaker.enabled "), service);
  EXPECT_GT(text.find("\n  slowStart.enabled "), service);
  EXPECT_GT(text.find("\n  loadbalancer "), service);
}

}  // namespace
}  // namespace marpc
