#include "marpc/alert/alerts.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/alert/alerts_fixture.h"
#include "tests/provider/gate.h"
#include "tests/support/http_listener.h"
#include "tests/support/silent_server.h"

namespace marpc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kSecret[] = "not-for-the-log";

TEST_F(AlertsTest, AnAlertIsPostedSigned) {
  HttpListener peer;
  settings_.webhook_url = absl::StrCat(peer.url(), "/hooks/1?team=a");
  settings_.webhook_secret = kSecret;
  const auto counters = After([](Alerts& alerts) { alerts.Tell(kOpen); });
  EXPECT_EQ(counters.sent, 1u);
  ASSERT_THAT(peer.requests(), SizeIs(1));
  auto request = peer.requests()[0];
  EXPECT_EQ(request.line, "POST /hooks/1?team=a HTTP/1.1");
  EXPECT_EQ(request.headers["content-type"], "application/json");
  const auto json = nlohmann::json::parse(request.body);
  EXPECT_EQ(json["event"], "breakerOpen");
  EXPECT_EQ(json["subject"], "demo.HelloService");
  EXPECT_EQ(json["reason"], "faultLimit");
  EXPECT_EQ(json["app"], "orders");
  EXPECT_EQ(json["env"], "test");
  EXPECT_EQ(json["leftOut"], 0);
  EXPECT_EQ(
      request.headers["x-marpc-signature"],
      "sha256=" + AlertSignature(kSecret, request.headers["x-marpc-timestamp"], request.body));
}

// As other tools have it: printf 1700000000.{} | openssl dgst -sha256 -hmac key
TEST_F(AlertsTest, TheSignatureIsTheHmacOfTimestampAndBody) {
  EXPECT_EQ(AlertSignature("key", "1700000000", "{}"),
            "9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae");
}

TEST_F(AlertsTest, WithoutASecretNothingIsSigned) {
  HttpListener peer;
  settings_.webhook_url = peer.url();
  After([](Alerts& alerts) { alerts.Tell(kOpen); });
  ASSERT_THAT(peer.requests(), SizeIs(1));
  EXPECT_FALSE(peer.requests()[0].headers.contains("x-marpc-signature"));
}

TEST_F(AlertsTest, OneOfAKindAndSubjectIsSentInAnIntervalAndTheNextTellsOfTheOthers) {
  HttpListener peer;
  settings_.webhook_url = peer.url();
  settings_.min_interval = absl::Seconds(60);
  const auto counters = After([&](Alerts& alerts) {
    alerts.Tell(kOpen);
    clock_.Advance(absl::Seconds(59));
    for (int i = 0; i < 3; ++i) alerts.Tell(kOpen);
    alerts.Tell({"breakerClose", kOpen.subject, "probesSucceeded"});
    alerts.Tell({"breakerOpen", "demo.Other", "faultLimit"});
    clock_.Advance(absl::Seconds(1));
    alerts.Tell(kOpen);
  });
  EXPECT_EQ(counters.left_out, 3u);
  EXPECT_EQ(counters.sent, 4u);
  ASSERT_THAT(peer.requests(), SizeIs(4));
  EXPECT_EQ(nlohmann::json::parse(peer.requests()[3].body)["leftOut"], 3);
}

TEST_F(AlertsTest, APeerThatRefusesIsLoggedWithoutPathAndSecretAndNotFollowed) {
  HttpListener peer(302);
  settings_.webhook_url = absl::StrCat(peer.url(), "/hooks/token");
  settings_.webhook_secret = kSecret;
  const auto counters = After([](Alerts& alerts) { alerts.Tell(kOpen); });
  EXPECT_EQ(counters.failed, 1u);
  EXPECT_THAT(peer.requests(), SizeIs(1));
  EXPECT_THAT(log_.str(), HasSubstr(absl::StrCat("event=alert_not_sent to=\"webhook ", peer.url(),
                                                 "\" what=\"answered with HTTP status 302\"")));
  EXPECT_THAT(log_.str(), Not(HasSubstr("token")));
  EXPECT_THAT(log_.str(), Not(HasSubstr(kSecret)));
}

TEST_F(AlertsTest, APasswordIsNoPartOfAWebhooksName) {
  const auto name = [](const std::string& url) {
    return std::string(MakeWebhookSink(url, "", absl::Seconds(1))->name());
  };
  EXPECT_EQ(name("https://user:12345@a.example:8443/x"), "webhook https://a.example:8443");
  EXPECT_EQ(name("https://user:12345/67@a.example:8443/x"), "webhook https://user");
  EXPECT_EQ(name("https://user:12345?67@a.example/x"), "webhook https://user");
  EXPECT_EQ(name("https://[::1]:80/x"), "webhook https://[::1]:80");
  EXPECT_EQ(name("https://[::1]/@team"), "webhook https://[::1]");
}

TEST_F(AlertsTest, APeerThatHangsIsGivenUpAfterItsTime) {
  SilentServer peer(/*greets=*/false);
  settings_.webhook_url = absl::StrCat("http://", peer.endpoint());
  settings_.timeout = absl::Milliseconds(50);
  const auto counters = After([](Alerts& alerts) { alerts.Tell(kOpen); });
  EXPECT_EQ(counters.failed, 1u);
}

TEST_F(AlertsTest, TheOldestGivesWayWhereTooManyWaitAndClosingEndsWhatIsUnderWay) {
  SilentServer peer(/*greets=*/false);
  settings_.webhook_url = absl::StrCat("http://", peer.endpoint());
  settings_.timeout = absl::Hours(1);
  auto alerts = Make();
  alerts->Tell({"breakerOpen", "demo.First", "faultLimit"});
  ASSERT_TRUE(Eventually([&] { return peer.HasGot("demo.First"); }));
  constexpr size_t kTold = 1000;
  for (size_t i = 0; i < kTold; ++i) {
    alerts->Tell({"breakerOpen", absl::StrCat("demo.S", i), "faultLimit"});
  }
  EXPECT_EQ(alerts->counters().dropped, kTold - Alerts::kMaxWaiting);
  alerts->Close(absl::ZeroDuration());
  const auto counters = alerts->counters();
  EXPECT_EQ(counters.sent, 0u);
  EXPECT_EQ(counters.failed, 1u) << "the one that was under way";
  EXPECT_EQ(counters.dropped, kTold);
  alerts->Tell(kOpen);
  EXPECT_EQ(alerts->counters().dropped, counters.dropped + 1) << "closed";
}

TEST_F(AlertsTest, NothingIsSentWhereNothingIsSet) {
  EXPECT_THAT(MakeAlertSinks(AlertSettings()), IsEmpty());
}

TEST(AlertLimiterTest, WhereTooManyAreKnownTheOneToldOfLongestAgoIsForgotten) {
  AlertLimiter limiter(absl::Seconds(60));
  SimulatedClock clock;
  const auto admitted = [&](int i) {
    return limiter.Admit({"ejected", absl::StrCat("s@", i), "errorRate"}, clock.Now()).has_value();
  };
  admitted(0);
  clock.Advance(absl::Seconds(30));
  for (int i = 1; i < 1000; ++i) ASSERT_TRUE(admitted(i));
  clock.Advance(absl::Seconds(30));
  EXPECT_TRUE(admitted(0)) << "its time is over";
  EXPECT_TRUE(admitted(1000));
  EXPECT_FALSE(admitted(0));
  EXPECT_FALSE(admitted(2));
  EXPECT_TRUE(admitted(1)) << "it was forgotten";
  EXPECT_EQ(limiter.remembered(), 1000u);
}

TEST(AlertLimiterTest, WhoseLikeWereLeftOutIsNotForgottenForTime) {
  AlertLimiter limiter(absl::Seconds(60));
  SimulatedClock clock;
  const auto admit = [&](int i) {
    return limiter.Admit({"ejected", absl::StrCat("s@", i), "errorRate"}, clock.Now());
  };
  for (int i = 0; i < 1000; ++i) admit(i);
  admit(1);
  clock.Advance(absl::Minutes(2));
  admit(1000);
  EXPECT_EQ(admit(1), 1u);
}

TEST(AlertLimiterTest, SubjectsAreForgottenInTime) {
  AlertLimiter limiter(absl::Seconds(60));
  SimulatedClock clock;
  for (int i = 0; i < 5000; ++i) {
    clock.Advance(absl::Milliseconds(1));
    limiter.Admit({"ejected", absl::StrCat("s@", i), "errorRate"}, clock.Now());
    ASSERT_LE(limiter.remembered(), 1000u);
  }
  clock.Advance(absl::Minutes(2));
  limiter.Admit({"ejected", "another", "errorRate"}, clock.Now());
  EXPECT_EQ(limiter.remembered(), 1u);
}

TEST(AlertJsonTest, TextIsEscapedAndBrokenBytesAreReplaced) {
  const std::string json =
      AlertJson({"ejected", "a\"b\n\xff", "x"}, {"app", "env"}, absl::UnixEpoch(), 1, 2);
  const auto parsed = nlohmann::json::parse(json);
  EXPECT_EQ(parsed["subject"], "a\"b\n\xEF\xBF\xBD");
  EXPECT_EQ(parsed["at"], "1970-01-01T00:00:00+00:00");
  EXPECT_EQ(parsed["dropped"], 2);
}

}  // namespace
}  // namespace marpc::testing
