#include "marpc/config/effective_policy.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/config/load.h"

namespace marpc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Method Declaring(const std::string& policy, const std::string& service_policy = "") {
  Method method;
  method.service = "acme.Shop";
  method.name = "Buy";
  method.full_name = "acme.Shop/Buy";
  method.policy = policy;
  method.service_policy = service_policy;
  return method;
}

Settings Parsed(const std::string& yaml) {
  absl::StatusOr<Settings> settings = ParseSettings(yaml, "shop.yaml");
  EXPECT_TRUE(settings.ok()) << settings.status();
  return settings.value_or(Settings());
}

// "3 | .proto, option (marpc.method)"
std::string InForce(const EffectivePolicy& policy, absl::string_view key,
                    const Method& method = Declaring("")) {
  EXPECT_TRUE(policy.status.ok()) << policy.status;
  Settings settings;
  settings.source = "shop.yaml";
  const PolicyDescription description = DescribePolicy(method, policy.settings, settings);
  const PolicyDescription::Entry* entry = description.Find(key);
  return entry == nullptr ? "no such key" : entry->value + " | " + entry->from;
}

TEST(EffectivePolicyTest, WarnsOfWhatAProtoSaysOfBreakersThatThereAreNoneOf) {
  const std::string text = "circuitbreaker.enabled: true\ncircuitbreaker.instance.faultLimit: 3\n";
  EXPECT_THAT(
      EffectivePolicyOf(Declaring("", text), Settings()).warnings,
      ElementsAre("circuitbreaker.instance.faultLimit has no effect: circuitbreaker.scope is "
                  "service"));
  const std::string scope = "circuitbreaker.scope: [instance]\n";
  EXPECT_THAT(EffectivePolicyOf(Declaring("", text + scope), Settings()).warnings, IsEmpty());
  EXPECT_THAT(EffectivePolicyOf(Declaring("", text),
                                Parsed("marpc: {circuitbreaker: {enabled: true, scope: instance}}"))
                  .warnings,
              IsEmpty());
  EXPECT_THAT(EffectivePolicyOf(Declaring("", "circuitbreaker: {enabled: true, activeProbe: true}"),
                                Settings())
                  .warnings,
              ElementsAre(HasSubstr("circuitbreaker.activeProbe has no effect")));
}

TEST(EffectivePolicyTest, ScopesComeFromYamlThenTheProto) {
  const Method method = Declaring("", "circuitbreaker.scope: [method, instance]\n");
  EXPECT_EQ(InForce(EffectivePolicyOf(method, Settings()), "circuitbreaker.scope"),
            "[method, instance] | .proto, option (marpc.service)");
  EXPECT_EQ(InForce(EffectivePolicyOf(method, Parsed("marpc:\n  circuitbreaker.scope: method\n")),
                    "circuitbreaker.scope"),
            "method | shop.yaml:2:3, at the top");
  const CodePolicies code = {{"acme.Shop", "circuitbreaker.scope: instance"}};
  EXPECT_EQ(InForce(EffectivePolicyOf(method, Settings(), code), "circuitbreaker.scope"),
            "instance | code");
  Settings changed;
  changed.method_defaults.circuit_breaker.scope.instance = true;
  EXPECT_EQ(InForce(EffectivePolicyOf(method, changed), "circuitbreaker.scope"),
            "[service, instance] | code");
}

TEST(EffectivePolicyTest, EachPlaceWinsOverTheOnesBeforeIt) {
  const std::string top = "marpc:\n  retry: {maxRetries: 3}\n";
  const std::string service = "  services:\n    acme.Shop:\n      retry.maxRetries: 4\n";
  const std::string method = "      methods:\n        Buy: {retry.maxRetries: 5}\n";
  struct Case {
    Method method;
    std::string yaml;
    CodePolicies code;
    std::string expected;
  };
  const std::string of_service = "retry.maxRetries: 1";
  const std::string of_method = "retry.maxRetries: 2";
  const std::vector<Case> cases = {
      {Declaring("", ""), "marpc:", {}, "0 | default"},
      {Declaring("", of_service), "marpc:", {}, "1 | .proto, option (marpc.service)"},
      {Declaring(of_method, of_service), "marpc:", {}, "2 | .proto, option (marpc.method)"},
      {Declaring(of_method, of_service), top, {}, "3 | shop.yaml:2:11, at the top"},
      {Declaring(of_method, of_service), top + service, {}, "4 | shop.yaml:5:7, in a service"},
      {Declaring(of_method, of_service),
       top + service + method,
       {},
       "5 | shop.yaml:7:15, in a method"},
      {Declaring(of_method, of_service),
       top + service + method,
       {{"acme.Shop", "retry.maxRetries: 6"}},
       "6 | code"},
      {Declaring(of_method, of_service),
       top + service + method,
       {{"acme.Shop", "retry.maxRetries: 6"}, {"acme.Shop/Buy", "retry: {maxRetries: 7}"}},
       "7 | code"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(
        InForce(EffectivePolicyOf(one.method, Parsed(one.yaml), one.code), "retry.maxRetries"),
        one.expected);
  }
}

TEST(EffectivePolicyTest, IsComposedKeyByKey) {
  const EffectivePolicy policy =
      EffectivePolicyOf(Declaring("retry.maxRetries: 2\nretry.timeout: \"1s\""),
                        Parsed("marpc: {retry: {timeout: 9s}}"));
  EXPECT_EQ(policy.settings.retry.max_retries, 2);
  EXPECT_EQ(policy.settings.retry.timeout, absl::Seconds(9));
}

// In YAML a value that equals the default was given all the same.
TEST(EffectivePolicyTest, ADefaultThatYamlSpellsOutWinsOverTheProto) {
  EXPECT_EQ(InForce(EffectivePolicyOf(Declaring("retry.maxRetries: 2"),
                                      Parsed("marpc: {retry: {maxRetries: 0}}")),
                    "retry.maxRetries"),
            "0 | shop.yaml:1:17, at the top");
}

TEST(EffectivePolicyTest, WhatCodeChangedInTheSettingsIsOfCode) {
  Settings settings = Parsed("marpc: {retry: {maxRetries: 1}}");
  settings.method_defaults.retry.max_retries = 4;
  settings.method_defaults.fallback = "saved";
  const EffectivePolicy policy =
      EffectivePolicyOf(Declaring("retry.maxRetries: 2\nfallback: \"other\""), settings);
  EXPECT_EQ(InForce(policy, "retry.maxRetries"), "4 | code");
  EXPECT_EQ(InForce(policy, "fallback"), "saved | code");
}

TEST(EffectivePolicyTest, SaysWhichRetryPolicyBroughtAValueAndWhereItStands) {
  const Settings settings = Parsed(
      "marpc:\n"
      "  retryPolicies:\n"
      "    eager: {maxRetries: 4}\n"
      "  retry: {policy: eager}\n"
      "  services:\n"
      "    acme.Shop:\n"
      "      methods:\n"
      "        Buy: {retry: {policy: retry-on-error}}\n");
  EXPECT_EQ(InForce(EffectivePolicyOf(Declaring(""), settings), "retry.maxRetries"),
            "2 | shop.yaml:8:23, in a method, by retry policy 'retry-on-error'");
  Method other = Declaring("");
  other.name = "Sell";
  EXPECT_EQ(InForce(EffectivePolicyOf(other, settings), "retry.maxRetries"),
            "4 | shop.yaml:3:13, at the top, by retry policy 'eager'");
}

TEST(EffectivePolicyTest, TheProtosRetryPolicyMayBeReadyMadeAndIsChangedByTheKeysBesideIt) {
  const Method method = Declaring("retry.policy: \"backoff-on-error\"\nretry.maxRetries: 9");
  const EffectivePolicy policy = EffectivePolicyOf(method, Settings());
  EXPECT_EQ(InForce(policy, "retry.maxRetries"), "9 | .proto, option (marpc.method)");
  EXPECT_EQ(InForce(policy, "retry.classifier"),
            "all | .proto, option (marpc.method), by retry policy 'backoff-on-error'");
}

TEST(EffectivePolicyTest, ARetryPolicyOfYamlReplacesTheProtosWithAllThatItBringsAlong) {
  const Method method = Declaring("retry.policy: \"backoff-on-error\"\nretry.timeout: \"1s\"");
  const EffectivePolicy policy = EffectivePolicyOf(
      method, Parsed("marpc: {retryPolicies: {mine: {maxRetries: 5}}, retry: {policy: mine}}"));
  EXPECT_EQ(policy.settings.retry.policy, "mine");
  EXPECT_EQ(policy.settings.retry.max_retries, 5);
  EXPECT_EQ(InForce(policy, "retry.classifier"), "network | default");
  EXPECT_EQ(policy.settings.retry.timeout, absl::Seconds(1)) << "given by itself";
}

TEST(EffectivePolicyTest, IdempotencyIsTheMethodsOwnWhereNobodySaysOtherwise) {
  Method method = Declaring("");
  method.idempotent = true;
  EXPECT_EQ(InForce(EffectivePolicyOf(method, Settings()), "retry.idempotent", method),
            "true | .proto, option idempotency_level");
  method.policy = "retry.idempotent: false";
  EXPECT_EQ(InForce(EffectivePolicyOf(method, Settings()), "retry.idempotent", method),
            "false | .proto, option (marpc.method)");
}

TEST(EffectivePolicyTest, TheServicesPolicyLeavesTheMethodsOut) {
  const MethodSettings shared = ServicePolicyOf(
      Declaring("circuitbreaker.faultLimit: 3", "circuitbreaker.enabled: true"), Settings());
  EXPECT_TRUE(shared.circuit_breaker.enabled);
  EXPECT_EQ(shared.circuit_breaker.fault_limit, CircuitBreakerSettings().fault_limit);
}

// As with code that an older protoc-gen-marpc has written.
TEST(EffectivePolicyTest, WhatCannotBeReadIsSaidWithItsPlaceAndLeftOut) {
  const EffectivePolicy policy = EffectivePolicyOf(
      Declaring("retry.maxRetries: -1\nretry.maxTries: 2", "retry.timeout: \"soon\""), Settings());
  EXPECT_THAT(std::string(policy.status.message()),
              AllOf(HasSubstr("option (marpc.service) of acme.Shop: retry.timeout: expected"),
                    HasSubstr("option (marpc.method) of acme.Shop/Buy: retry.maxRetries: expected "
                              "a whole number from 0 to 100, got '-1'"),
                    HasSubstr("unknown key 'maxTries'")));
  EXPECT_EQ(policy.settings.retry.max_retries, 0);
}

TEST(CodePoliciesTest, AreCheckedByThemselves) {
  EXPECT_TRUE(CheckCodePolicies({{"acme.Shop", "retry: {maxRetries: 2}"}}, Settings()).ok());
  const absl::Status status = CheckCodePolicies(
      {{"acme.Shop", "retry: {maxRetry: 2}"}, {"acme.Shop/Buy", "loadbalancer: random"}},
      Settings());
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("ConsumerOptions::policies of acme.Shop: unknown key 'maxRetry'"),
                    HasSubstr("ConsumerOptions::policies of acme.Shop/Buy: loadbalancer may not "
                              "stand")));
}

}  // namespace
}  // namespace marpc
