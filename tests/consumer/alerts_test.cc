// Alerts as a consumer sends them.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "marpc/observe/log.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/ostream_sink.h"
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
using ::testing::Not;
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
  Listed({a_.endpoint()});
  settings_.alerts.webhook_url = absl::StrCat("http://", peer.endpoint());
  settings_.alerts.timeout = absl::Hours(1);
  CircuitBreakerSettings& breaker = settings_.method_defaults.circuit_breaker;
  breaker.enabled = true;
  breaker.fault_limit = 1;
  breaker.half_open_initial_delay = absl::Milliseconds(1);
  StartConsumer();
  const demo::HelloServiceClient client(*consumer_);
  a_.Fail(true);
  Ask(client, 1);
  a_.Fail(false);
  // From here to the end the alert hangs; who waited for it would, too.
  ASSERT_TRUE(Eventually([&] { return peer.HasGot("breakerOpen"); }));
  EXPECT_TRUE(Eventually([&] { return client.Hello(Request()).ok(); }));
  consumer_->Close();
}

TEST_F(AlertsTest, ABadUrlIsRefusedWithItsPlace) {
  for (const std::string url :
       {"alerts.example.com/hush-hush", "ftp://hush-hush.com", "http://", "'http://a hush-hush'",
        "http://user:pa/hush-hush@host", "http://host:123456", "http://a:b:80"}) {
    const auto settings =
        ParseSettings(absl::StrCat("marpc:\n  alerts:\n    webhook:\n      url: ", url, "\n"),
                      "test.yaml", LoadOptions());
    ASSERT_FALSE(settings.ok()) << url;
    EXPECT_THAT(settings.status().message(),
                AllOf(HasSubstr("test.yaml:4:12"), HasSubstr("alerts.webhook.url"),
                      HasSubstr("a URL such as https://host/path: http or https, a host, no "
                                "blanks"),
                      Not(HasSubstr("hush-hush"))))
        << "its path is often a password";
  }
  settings_.alerts.webhook_url = "localhost:80/hush-hush";
  const absl::Status refused = Consumer::Create(settings_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(),
              AllOf(HasSubstr("settings: alerts.webhook.url: expected a URL such as"),
                    Not(HasSubstr("hush-hush"))));
  for (const std::string url :
       {"http://[::1]/x", "http://[::1]:80", "https://u:p@host:8080/@team", "http://host"}) {
    settings_.alerts.webhook_url = url;
    EXPECT_TRUE(Consumer::Create(settings_).ok()) << url;
  }
  const auto unsigned_ =
      ParseSettings("marpc: {alerts: {webhook: {secret: hush-hush}}}", "test.yaml", LoadOptions());
  ASSERT_FALSE(unsigned_.ok());
  EXPECT_THAT(unsigned_.status().message(), HasSubstr("alerts.webhook.url is not set"));
  EXPECT_THAT(unsigned_.status().message(), Not(HasSubstr("hush-hush")));
}

TEST_F(AlertsTest, ACommandWithoutANameIsRefusedAndOneThatCannotBeRunIsWarnedOf) {
  const auto nameless =
      ParseSettings("marpc:\n  alerts:\n    command: ['', x]\n", "test.yaml", LoadOptions());
  ASSERT_FALSE(nameless.ok());
  EXPECT_THAT(nameless.status().message(), AllOf(HasSubstr("test.yaml:3:14: marpc.alerts.command"),
                                                 HasSubstr("program's name")));
  settings_.alerts.command = {""};
  EXPECT_EQ(Consumer::Create(settings_).status().code(), absl::StatusCode::kInvalidArgument);

  std::ostringstream log;
  SetLogger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  for (const char* command : {"/bin/true", "true"}) {
    settings_.alerts.command = {command};
    EXPECT_TRUE(Consumer::Create(settings_).ok());
  }
  EXPECT_THAT(log.str(), Not(HasSubstr("event=alerts_cannot_run")));
  settings_.alerts.command = {"/no/such/command"};
  EXPECT_TRUE(Consumer::Create(settings_).ok()) << "it may be there in time";
  EXPECT_THAT(log.str(), HasSubstr("event=alerts_cannot_run command=\"/no/such/command\" what=\"No "
                                   "such file"));
  SetLogger(nullptr);
}

}  // namespace
}  // namespace marpc::testing
