#include "marpc/config/retry_policies.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/config/load.h"

namespace marpc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kService[] = "demo.HelloService";

Settings Parsed(const std::string& yaml) {
  absl::StatusOr<Settings> settings = ParseSettings(yaml, "file");
  EXPECT_TRUE(settings.ok()) << settings.status();
  return settings.value_or(Settings());
}

std::string Fault(const std::string& yaml) {
  return std::string(ParseSettings(yaml, "file").status().message());
}

TEST(RetryPoliciesTest, AMethodStartsFromItsPolicyAndChangesIt) {
  const Settings settings = Parsed(R"(
marpc:
  retryPolicies:
    aggressive: {maxRetries: 4, timeout: 100ms, backoff: {strategy: fixed, initial: 5ms}}
  retry: {timeout: 2s}
  services:
    demo.HelloService:
      methods:
        Hello: {retry: {policy: aggressive, maxRetries: 3}}
)");
  const RetrySettings& hello = settings.ForMethod(kService, "Hello").retry;
  EXPECT_EQ(hello.policy, "aggressive");
  EXPECT_EQ(hello.max_retries, 3);
  EXPECT_EQ(hello.timeout, absl::Milliseconds(100));
  EXPECT_EQ(hello.backoff.strategy, BackoffStrategy::kFixed);
  const RetrySettings& others = settings.ForMethod(kService, "Add").retry;
  EXPECT_EQ(others.max_retries, 0);
  EXPECT_EQ(others.timeout, absl::Seconds(2));
}

TEST(RetryPoliciesTest, APolicyAtTheTopHoldsForAllThatDoNotSayOtherwise) {
  const Settings settings = Parsed(R"(
marpc:
  retry: {policy: retry-on-error}
  services: {demo.HelloService: {retry: {maxRetries: 7}}}
)");
  const RetrySettings& retry = settings.ForMethod(kService, "Hello").retry;
  EXPECT_EQ(retry.max_retries, 7);
  EXPECT_EQ(retry.classifier, RetryClassifier::kAll);
}

TEST(RetryPoliciesTest, TheReadyMadeOnesAreThere) {
  for (const auto& [name, yaml] : ReadyMadeRetryPolicies()) {
    const Settings settings = Parsed("marpc: {retry: {policy: " + name + "}}");
    const RetrySettings& retry = settings.method_defaults.retry;
    EXPECT_EQ(retry.max_retries, 2) << name;
    const bool falsy = name.find("falsy") != std::string::npos;
    EXPECT_EQ(retry.retry_on_result, falsy ? "empty" : "") << name;
    EXPECT_EQ(retry.classifier, falsy ? RetryClassifier::kNone : RetryClassifier::kAll) << name;
    const bool waits = name.find("backoff") == 0;
    EXPECT_EQ(retry.backoff.initial, waits ? absl::Milliseconds(100) : absl::ZeroDuration());
  }
}

TEST(RetryPoliciesTest, AFilesOwnPolicyReplacesAReadyMadeOne) {
  const Settings settings = Parsed(
      "marpc: {retryPolicies: {retry-on-error: {maxRetries: 9}}, retry: {policy: retry-on-error}}");
  EXPECT_EQ(settings.method_defaults.retry.max_retries, 9);
  EXPECT_EQ(settings.method_defaults.retry.classifier, RetryClassifier::kNetwork);
}

TEST(RetryPoliciesTest, AnUnknownNameIsAnErrorWithTheNearestOne) {
  EXPECT_EQ(Fault("marpc:\n  retryPolicies: {aggressive: {maxRetries: 1}}\n"
                  "  retry: {policy: agressive}\n"),
            "file:3:19: marpc.retry.policy: no policy 'agressive'; did you mean 'aggressive'?");
  EXPECT_THAT(Fault("marpc: {retry: {policy: zzz}}"), HasSubstr("known: backoff-on-error"));
}

TEST(RetryPoliciesTest, APolicyIsCheckedWhereItIsDefinedUsedOrNot) {
  EXPECT_EQ(Fault("marpc:\n  retryPolicies:\n    mine: {maxRetry: 1}\n"),
            "file:3:12: unknown key 'maxRetry' under marpc.retryPolicies.mine; did you mean "
            "'maxRetries'?");
  const std::string fault =
      Fault("marpc:\n  retryPolicies:\n    mine: {maxRetries: many}\n  retry: {policy: mine}\n");
  EXPECT_THAT(fault, HasSubstr("file:3:24: marpc.retryPolicies.mine.retry.maxRetries: expected"));
  EXPECT_THAT(fault, Not(HasSubstr("\n"))) << "said once";
  EXPECT_THAT(Fault("marpc: {retryPolicies: {mine: {backoff: {strategy: fixed, factor: 2}}}}"),
              HasSubstr("has no effect with the strategy fixed"));
}

TEST(RetryPoliciesTest, APolicyIsNotMadeOfAnotherOne) {
  EXPECT_THAT(Fault("marpc: {retryPolicies: {mine: {policy: retry-on-error}}}"),
              HasSubstr("marpc.retryPolicies.mine: a policy cannot be made of another one"));
}

TEST(RetryPoliciesTest, NothingIsNoMap) {
  EXPECT_TRUE(ParseSettings("marpc: {retryPolicies: {mine: }}", "file").ok());
  EXPECT_THAT(Fault("marpc: {retryPolicies: {mine: 3}}"),
              HasSubstr("marpc.retryPolicies.mine: expected a map of keys"));
}

}  // namespace
}  // namespace marpc
