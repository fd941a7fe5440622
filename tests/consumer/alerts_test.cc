// Alerts as a consumer sends them.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/consumer/yaml_fixture.h"
#include "tests/provider/gate.h"
#include "tests/support/health_server.h"
#include "tests/support/http_listener.h"
#include "tests/support/silent_server.h"

namespace marpc::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class AlertsTest : public YamlFixture {
 protected:
  static void Ask(const demo::HelloServiceClient& client, int times) {
    for (int i = 0; i < times; ++i) client.Hello(Request()).IgnoreError();
  }
  static std::vector<std::string> Bodies(const HttpListener& peer) {
    std::vector<std::string> bodies;
    for (const auto& request : peer.requests()) bodies.push_back(request.body);
    return bodies;
  }

  HealthServer a_;
};

TEST_F(AlertsTest, AnOpenedBreakerIsToldOfByDefaultAndTheProgramsOwnListenerToo) {
  HttpListener peer;
  int transitions = 0;
  ConsumerOptions options;
  options.on_breaker_transition = [&](absl::string_view, const CircuitBreaker::Transition&) {
    ++transitions;
  };
  StartFromYaml({a_.endpoint()},
                {absl::StrCat("app: orders, alerts: {webhook: {url: '", peer.url(), "'}}"),
                 "circuitbreaker: {enabled: true, faultLimit: 2}"},
                options);
  const demo::HelloServiceClient client(*consumer_);
  a_.Fail(true);
  Ask(client, 3);
  ASSERT_TRUE(consumer_->ForceBreaker(kHelloService, BreakerState::kClosed).ok());
  consumer_->Close();
  EXPECT_EQ(transitions, 2);
  EXPECT_THAT(Bodies(peer), ElementsAre(AllOf(HasSubstr("\"event\":\"breakerOpen\""),
                                              HasSubstr("\"subject\":\"demo.HelloService\""),
                                              HasSubstr("\"reason\":\"faultLimit\""),
                                              HasSubstr("\"app\":\"orders\""))));
}

TEST_F(AlertsTest, WhatIsToldIsSaidByTheSettings) {
  HttpListener peer;
  HealthServer b;
  a_.Say(false);
  StartFromYaml(
      {a_.endpoint(), b.endpoint()},
      {absl::StrCat("alerts: {on: [ejected, unhealthy, healthy], webhook: {url: '", peer.url(),
                    "'}}"),
       "circuitbreaker: {enabled: true, faultLimit: 2}",
       "outlier: {enabled: true, ejectOn: consecutiveErrors, consecutiveErrors: {threshold: 2}}",
       "healthCheck: {enabled: true, interval: 100ms, timeout: 5s}"});
  const demo::HelloServiceClient client(*consumer_);
  b.Fail(true);
  ASSERT_TRUE(Eventually([&] { return peer.requests().size() == 1; }));
  Ask(client, 2);
  a_.Say(true);
  ASSERT_TRUE(Eventually([&] { return peer.requests().size() == 3; }));
  const auto about = [](const std::string& event, const HealthServer& server) {
    return AllOf(HasSubstr(absl::StrCat("\"event\":\"", event, "\"")),
                 HasSubstr(absl::StrCat("demo.HelloService@", server.endpoint())));
  };
  EXPECT_THAT(Bodies(peer), UnorderedElementsAre(about("unhealthy", a_), about("healthy", a_),
                                                 about("ejected", b)));
}

TEST_F(AlertsTest, AHangingWebhookHoldsUpNoCall) {
  SilentServer peer(/*greets=*/false);
  StartFromYaml(
      {a_.endpoint()},
      {absl::StrCat("alerts: {timeout: 1m, webhook: {url: 'http://", peer.endpoint(), "'}}"),
       "circuitbreaker: {enabled: true, faultLimit: 1, halfOpenInitialDelay: 1ms, "
       "halfOpenDelay: 1ms}"});
  const demo::HelloServiceClient client(*consumer_);
  a_.Fail(true);
  Ask(client, 1);
  a_.Fail(false);
  // While the alert hangs, which it does for a minute.
  EXPECT_TRUE(Eventually([&] { return client.Hello(Request()).ok(); }));
}

TEST_F(AlertsTest, ABadUrlIsRefusedWithItsPlace) {
  for (const std::string url :
       {"alerts.example.com/x", "ftp://example.com", "http://", "'http://a b'"}) {
    const auto settings =
        ParseSettings(absl::StrCat("marpc:\n  alerts:\n    webhook:\n      url: ", url, "\n"),
                      "test.yaml", LoadOptions());
    ASSERT_FALSE(settings.ok()) << url;
    EXPECT_THAT(settings.status().message(),
                AllOf(HasSubstr("test.yaml:4:12"), HasSubstr("alerts.webhook.url"),
                      HasSubstr("http:// or https://")));
  }
  settings_.alerts.webhook_url = "localhost:80";
  EXPECT_EQ(Consumer::Create(settings_).status().code(), absl::StatusCode::kInvalidArgument);
  const auto unsigned_ =
      ParseSettings("marpc: {alerts: {webhook: {secret: hush-hush}}}", "test.yaml", LoadOptions());
  ASSERT_FALSE(unsigned_.ok());
  EXPECT_THAT(unsigned_.status().message(), HasSubstr("alerts.webhook.url is not set"));
  EXPECT_THAT(unsigned_.status().message(), ::testing::Not(HasSubstr("hush-hush")));
}

}  // namespace
}  // namespace marpc::testing
