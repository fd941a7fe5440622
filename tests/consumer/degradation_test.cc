// Levels of degradation and last resorts, as a consumer has them.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "demo/hello.grpc.pb.h"
#include "gmock/gmock.h"
#include "marpc/consumer/drop_in_channel.h"
#include "marpc/observe/log.h"
#include "marpc/transport/grpc/status.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/consumer/scripted_registry.h"
#include "tests/consumer/yaml_fixture.h"
#include "tests/provider/serving.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Level = DegradationLevel;

constexpr char kOptional[] =
    "services: {demo.HelloService: {methods: {Hello: {degradation.importance: optional}}}}";
constexpr char kOptionalWithReply[] =
    "services: {demo.HelloService: {methods: {Hello: {degradation.importance: optional, "
    "fallbackReply: '{\"message\": \"sorry\"}'}}}}";

class DegradationTest : public YamlFixture {
 protected:
  absl::Status Ask() { return demo::HelloServiceClient(*consumer_).Hello(Request()).status(); }
  // OK, or why not.
  std::string ReasonOfAsking() {
    const absl::Status status = Ask();
    return status.ok() ? "OK" : InfoOf(status).reason();
  }

  EchoServer server_;
};

// --- every style of call

class StyleTest : public DegradationTest {
 public:
  // How a call ended, and who answered: "remote", "stale", "fallback".
  struct Outcome {
    absl::Status status;
    std::string message;
    std::string by;
  };
  using Style = Outcome (StyleTest::*)();

  Outcome Blocking() {
    CallReport report;
    CallOptions options;
    options.report = &report;
    const auto reply = demo::HelloServiceClient(*consumer_).Hello(Request(), options);
    return {reply.status(), reply.ok() ? reply->message() : "", By(report)};
  }
  Outcome Async() {
    CallReport report;
    CallOptions options;
    options.report = &report;
    absl::StatusOr<demo::HelloReply> reply;
    absl::Notification ended;
    demo::HelloServiceClient(*consumer_)
        .HelloAsync(
            Request(),
            [&](absl::StatusOr<demo::HelloReply> r) {
              reply = std::move(r);
              ended.Notify();
            },
            options);
    ended.WaitForNotification();
    return {reply.status(), reply.ok() ? reply->message() : "", By(report)};
  }
  Outcome StockBlocking() {
    grpc::ClientContext context;
    demo::HelloReply reply;
    const grpc::Status status = NewStub()->Hello(&context, Request(), &reply);
    return {ToAbslStatus(status), reply.message(), Trailer(context)};
  }
  Outcome StockCallback() {
    grpc::ClientContext context;
    demo::HelloReply reply;
    const demo::HelloRequest request = Request();
    grpc::Status status;
    absl::Notification ended;
    const auto stub = NewStub();
    stub->async()->Hello(&context, &request, &reply, [&](grpc::Status s) {
      status = std::move(s);
      ended.Notify();
    });
    ended.WaitForNotification();
    return {ToAbslStatus(status), reply.message(), Trailer(context)};
  }
  static const std::vector<Style>& All() {
    static const auto& all =
        *new std::vector<Style>{&StyleTest::Blocking, &StyleTest::Async, &StyleTest::StockBlocking,
                                &StyleTest::StockCallback};
    return all;
  }

 private:
  std::unique_ptr<demo::HelloService::Stub> NewStub() {
    return demo::HelloService::NewStub(consumer_->Channel(kHelloService));
  }
  static std::string By(const CallReport& report) {
    switch (report.answer) {
      case CallReport::Answer::kRemote:
        return "remote";
      case CallReport::Answer::kStale:
        return "stale";
      case CallReport::Answer::kFallback:
        return "fallback";
      default:
        return "nobody";
    }
  }
  static std::string Trailer(const grpc::ClientContext& context) {
    const auto& trailers = context.GetServerTrailingMetadata();
    const auto found = trailers.find(kAnswerTrailer);
    if (found == trailers.end()) return "remote";
    return std::string(found->second.data(), found->second.size());
  }
};

TEST_F(StyleTest, OptionalCallsAreAnsweredByTheFallbackWhileTheLevelLeavesThemOut) {
  StartFromYaml({server_.endpoint()}, {kOptionalWithReply});
  int arrivals = 0;
  for (const Style ask : StyleTest::All()) {
    consumer_->SetDegradation(Level::kDegraded);
    Outcome outcome = (this->*ask)();
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.message, "sorry");
    EXPECT_EQ(outcome.by, "fallback");
    EXPECT_EQ(server_.arrivals(), arrivals);
    consumer_->SetDegradation(Level::kNormal);
    outcome = (this->*ask)();
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.message, "hello, Alice");
    EXPECT_EQ(outcome.by, "remote");
    EXPECT_EQ(server_.arrivals(), ++arrivals);
  }
  const CallCounters& counters = consumer_->Counters(kHelloService);
  EXPECT_EQ(counters.refused_by_degradation, StyleTest::All().size());
  EXPECT_EQ(counters.degraded_answers, StyleTest::All().size());
}

TEST_F(StyleTest, WithoutAFallbackTheErrorSaysWhyAndWhenToComeBack) {
  StartFromYaml({server_.endpoint()}, {kOptional, "degradation.retryAfter: 7s"});
  consumer_->SetDegradation(Level::kCoreOnly);
  for (const Style ask : StyleTest::All()) {
    const Outcome outcome = (this->*ask)();
    EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
    EXPECT_THAT(std::string(outcome.status.message()),
                AllOf(HasSubstr("demo.HelloService/Hello is not called"), HasSubstr("core-only"),
                      HasSubstr("optional"), HasSubstr("in 7s"), HasSubstr("normal again")));
    const ErrorInfo info = InfoOf(outcome.status);
    EXPECT_EQ(info.reason(), reason::kDegraded);
    EXPECT_EQ(info.origin(), ErrorInfo::FRAMEWORK);
    EXPECT_EQ(info.method(), "demo.HelloService/Hello");
    EXPECT_EQ(info.retry_after().seconds(), 7);
    EXPECT_EQ(info.attempts_size(), 0);
  }
  EXPECT_EQ(server_.arrivals(), 0);
  EXPECT_EQ(consumer_->Counters(kHelloService).degraded_answers, 0u);
}

// --- last resorts, whatever the reason

TEST_F(StyleTest, AFixedAnswerTakesThePlaceOfEveryKindOfRefusal) {
  struct Case {
    std::string what;
    std::vector<std::string> keys;
    bool sick;
    int calls_before;
  };
  const std::vector<Case> cases = {
      {"breaker",
       {"circuitbreaker: {enabled: true, faultLimit: 1, halfOpenInitialDelay: 1h}"},
       true,
       1},
      {"rate", {"limit: {rate: 0.001, rateWindow: 1h}"}, false, 4},
      {"retries", {"retry: {maxRetries: 1, idempotent: true}"}, true, 0},
      {"budget",
       {"retry: {maxRetries: 1, idempotent: true, budget: {initial: 0, minRetriesPerSec: 0}}"},
       true,
       0},
  };
  for (const Case& one : cases) {
    server_.FailWith(grpc::Status::OK);
    std::vector<std::string> keys = one.keys;
    keys.emplace_back(
        "services: {demo.HelloService: {methods: {Hello: {fallbackReply: '{\"message\": "
        "\"sorry\"}'}}}}");
    StartFromYaml({server_.endpoint()}, keys);
    if (one.sick) server_.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
    for (int i = 0; i < one.calls_before; ++i) Ask().IgnoreError();
    for (const Style ask : StyleTest::All()) {
      const Outcome outcome = (this->*ask)();
      EXPECT_EQ(outcome.message, "sorry") << one.what << ": " << outcome.status;
      EXPECT_EQ(outcome.by, "fallback") << one.what;
    }
  }
}

TEST_F(DegradationTest, ForAProviderThatRefusesTheLastGoodAnswerAnswers) {
  Settings provider = TestSettings();
  provider.provider.limit.rate["demo.HelloService/Delay"] = 1e-4;
  provider.provider.limit.rate_window = absl::Hours(1);
  Serving serving(provider);
  serving.handler().OnDelay([](auto&, auto&, demo::HelloReply* reply) {
    reply->set_message("real");
    return absl::OkStatus();
  });
  serving.Start();
  for (const bool kept : {true, false}) {
    StartFromYaml({serving.provider().endpoint().ToString()},
                  {kept ? "staleIfError.enabled: true" : "degradation.message: busy"});
    const demo::HelloServiceClient client(*consumer_);
    if (kept) {
      ASSERT_TRUE(client.Delay({}).ok());
    }
    CallReport report;
    CallOptions options;
    options.report = &report;
    const auto reply = client.Delay({}, options);
    if (!kept) {
      EXPECT_EQ(InfoOf(reply.status()).reason(), reason::kRateLimited);
      EXPECT_EQ(reply.status().message(), "busy");
      continue;
    }
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->message(), "real");
    EXPECT_EQ(report.answer, CallReport::Answer::kStale);
    ASSERT_EQ(report.attempts.size(), 1u);
  }
}

TEST_F(DegradationTest, WorksBeforeTheRegistryHasSaidAnything) {
  settings_.registry.connect_timeout = absl::ZeroDuration();
  settings_.method_defaults.degradation.importance = MethodImportance::kOptional;
  ConsumerOptions options;
  options.registry = std::make_shared<ScriptedRegistry>();
  StartConsumer(std::move(options));
  EXPECT_EQ(ReasonOfAsking(), reason::kNoAvailableInstance);
  consumer_->SetDegradation(Level::kDegraded);
  EXPECT_EQ(ReasonOfAsking(), reason::kDegraded);
}

// --- keys

TEST_F(DegradationTest, ImportanceIsThatOfTheNearestLevelOfTheFile) {
  struct Case {
    std::vector<std::string> keys;
    std::string reason;
  };
  const std::string own = "methods: {Hello: {degradation: {importance: core}}}";
  const std::vector<Case> cases = {
      {{}, std::string(reason::kDegraded)},
      {{"degradation: {importance: core}"}, "OK"},
      {{"degradation: {importance: core}",
        "services: {demo.HelloService: {degradation: {importance: optional}}}"},
       std::string(reason::kDegraded)},
      {{"services: {demo.HelloService: {degradation: {importance: optional}, " + own + "}}"}, "OK"},
  };
  for (const Case& one : cases) {
    StartFromYaml({server_.endpoint()}, one.keys);
    consumer_->SetDegradation(Level::kCoreOnly);
    EXPECT_EQ(ReasonOfAsking(), one.reason) << absl::StrJoin(one.keys, " ");
  }
}

TEST_F(DegradationTest, AServiceBeginsAtItsLevelAndAnOperatorChangesIt) {
  const std::string elsewhere =
      "services: {demo.UserService: {degradation.level: core-only}, demo.HelloService: {}}";
  for (const auto& [keys, level] : std::vector<std::pair<std::string, Level>>{
           {"degradation: {level: core-only}", Level::kCoreOnly},
           {"services: {demo.HelloService: {degradation: {level: degraded}}}", Level::kDegraded},
           {elsewhere, Level::kNormal}}) {
    StartFromYaml({server_.endpoint()}, {keys});
    EXPECT_EQ(consumer_->Degradation(kHelloService), level) << keys;
    EXPECT_EQ(ReasonOfAsking(), level == Level::kCoreOnly ? reason::kDegraded : "OK") << keys;
    ASSERT_TRUE(consumer_->SetDegradation(kHelloService, Level::kNormal).ok());
    EXPECT_EQ(ReasonOfAsking(), "OK");
  }
}

TEST_F(DegradationTest, AMessageOfTheFilesOwnIsWhatACallerReads) {
  StartFromYaml({server_.endpoint()},
                {"degradation: {message: 'Hello is on holiday', importance: optional}"});
  consumer_->SetDegradation(Level::kDegraded);
  const absl::Status status = Ask();
  EXPECT_EQ(status.message(), "Hello is on holiday");
  EXPECT_EQ(InfoOf(status).reason(), reason::kDegraded);
  // Lost for good: the same words, and when to come back.
  consumer_->SetDegradation(Level::kNormal);
  server_.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  const absl::Status lost = Ask();
  EXPECT_EQ(lost.message(), "Hello is on holiday");
  EXPECT_EQ(InfoOf(lost).reason(), reason::kConnection);
  EXPECT_EQ(InfoOf(lost).retry_after().seconds(), 30);
  ASSERT_EQ(InfoOf(lost).attempts_size(), 1);
  EXPECT_THAT(InfoOf(lost).attempts(0).message(), HasSubstr("sick"));
}

// --- the switch

TEST_F(DegradationTest, AWordOnOneServiceLeavesOthersAlone) {
  StartFromYaml({server_.endpoint()}, {kOptional});
  ASSERT_TRUE(consumer_->SetDegradation("demo.UserService", Level::kCoreOnly).ok());
  EXPECT_EQ(ReasonOfAsking(), "OK");
  ASSERT_TRUE(consumer_->SetDegradation(kHelloService, Level::kDegraded).ok());
  EXPECT_EQ(ReasonOfAsking(), reason::kDegraded);
  EXPECT_EQ(consumer_->Degradation(kHelloService), Level::kDegraded);
  EXPECT_EQ(consumer_->Degradation("demo.UserService"), Level::kCoreOnly);
  EXPECT_EQ(consumer_->Degradation("demo.OrderService"), Level::kNormal);
}

TEST_F(DegradationTest, AServiceThatNobodyKnowsIsToldWithTheNearestName) {
  StartFromYaml({server_.endpoint()}, {});
  EXPECT_EQ(ReasonOfAsking(), "OK");
  const absl::Status status = consumer_->SetDegradation("demo.HeloService", Level::kDegraded);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean 'demo.HelloService'?"));
  // A channel makes a service known of which there is no descriptor here.
  EXPECT_FALSE(consumer_->SetDegradation("acme.Elsewhere", Level::kDegraded).ok());
  consumer_->Channel("acme.Elsewhere");
  EXPECT_TRUE(consumer_->SetDegradation("acme.Elsewhere", Level::kDegraded).ok());
}

TEST_F(DegradationTest, ASwitchIsLogged) {
  std::ostringstream log;
  SetLogger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  StartFromYaml({server_.endpoint()}, {});
  ASSERT_TRUE(consumer_->SetDegradation(kHelloService, Level::kDegraded).ok());
  SetLogger(nullptr);
  EXPECT_THAT(log.str(),
              HasSubstr("event=degradation service=demo.HelloService from=normal to=degraded"));
}

}  // namespace
}  // namespace marpc::testing
