// Policy declared in a .proto, seen to act on generated clients and on stock stubs alike.
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/config/load.h"
#include "marpc/consumer/consumer.h"
#include "marpc/observe/log.h"
#include "marpc/transport/grpc/status.h"
#include "shop/shop.grpc.pb.h"
#include "shop/shop.marpc.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/consumer/shop_server.h"

namespace marpc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

enum class Kind { kGenerated, kStock };

class DeclaredPolicyTest : public ::testing::TestWithParam<Kind> {
 protected:
  // `keys` stand below `marpc:`, in flow style. Saved's fallback is there unless `options` say
  // otherwise.
  absl::Status Create(const std::vector<std::string>& keys, ConsumerOptions options) {
    const std::string yaml = absl::StrCat(
        "marpc:\n  registry: {address: 'static:', static: {shop.Shop: ['", server_.endpoint(),
        "'], shop.Guild: ['", server_.endpoint(), "'], shop.Stall: ['", server_.endpoint(),
        "']}}\n  ", absl::StrJoin(keys, "\n  "), "\n");
    absl::StatusOr<Settings> settings = ParseSettings(yaml, "shop.yaml");
    if (!settings.ok()) return settings.status();
    if (change_settings_ != nullptr) change_settings_(*settings);
    auto consumer = Consumer::Create(*settings, std::move(options));
    if (consumer.ok()) consumer_ = *std::move(consumer);
    return consumer.status();
  }
  void Start(const std::vector<std::string>& keys = {}, ConsumerOptions options = {}) {
    options.fallbacks["saved"] = [](const Method&, const google::protobuf::MessageLite&,
                                    const absl::Status&, google::protobuf::MessageLite* reply) {
      static_cast<shop::Text*>(reply)->set_text("saved");
      return absl::OkStatus();
    };
    const absl::Status status = Create(keys, std::move(options));
    ASSERT_TRUE(status.ok()) << status;
  }

  using StockCall = grpc::Status (shop::Shop::Stub::*)(grpc::ClientContext*, const shop::Text&,
                                                       shop::Text*);
  using Call = absl::StatusOr<shop::Text> (shop::ShopClient::*)(const shop::Text&,
                                                                const CallOptions&) const;
  absl::StatusOr<shop::Text> Ask(Call call, StockCall stock) {
    shop::Text request;
    request.set_text("one");
    if (GetParam() == Kind::kGenerated) {
      return (shop::ShopClient(*consumer_).*call)(request, {});
    }
    auto stub = shop::Shop::NewStub(consumer_->Channel("shop.Shop"));
    grpc::ClientContext context;
    shop::Text reply;
    const grpc::Status status = (stub.get()->*stock)(&context, request, &reply);
    if (!status.ok()) return ToAbslStatus(status);
    return reply;
  }
  absl::StatusOr<shop::Text> AskByService() {
    return Ask(&shop::ShopClient::ByService, &shop::Shop::Stub::ByService);
  }
  absl::StatusOr<shop::Text> AskByMethod() {
    return Ask(&shop::ShopClient::ByMethod, &shop::Shop::Stub::ByMethod);
  }
  static std::string ReasonOf(const absl::Status& status) {
    const auto info = GetErrorInfo(status);
    return info.has_value() ? info->reason() : status.ToString();
  }
  std::string FromOf(absl::string_view method, absl::string_view key) {
    const auto description = consumer_->Describe(absl::StrCat("shop.Shop/", method));
    if (!description.ok()) return description.status().ToString();
    const PolicyDescription::Entry* entry = description->Find(key);
    return entry == nullptr ? "no such key" : absl::StrCat(entry->value, " | ", entry->from);
  }

  ShopServer server_;
  std::function<void(Settings&)> change_settings_;
  std::unique_ptr<Consumer> consumer_;
};

INSTANTIATE_TEST_SUITE_P(Clients, DeclaredPolicyTest,
                         ::testing::Values(Kind::kGenerated, Kind::kStock), [](const auto& info) {
                           return info.param == Kind::kGenerated ? "Generated" : "Stock";
                         });

TEST_P(DeclaredPolicyTest, RetriesAsTheMethodSaysAndElseAsItsServiceSays) {
  Start();
  server_.AnswerWith(grpc::Status(grpc::StatusCode::ABORTED, "again"));
  EXPECT_TRUE(absl::IsAborted(AskByService().status()));
  EXPECT_EQ(server_.arrivals("ByService"), 2);
  EXPECT_TRUE(absl::IsAborted(AskByMethod().status()));
  EXPECT_EQ(server_.arrivals("ByMethod"), 4);
}

TEST_P(DeclaredPolicyTest, ReadsAnOptionWrittenFieldByFieldAndTheIdempotencyLevel) {
  Start();
  const auto ask = [&] { return Ask(&shop::ShopClient::ByLevel, &shop::Shop::Stub::ByLevel); };
  server_.AnswerWith(grpc::Status(grpc::StatusCode::ABORTED, "not listed here"));
  EXPECT_TRUE(absl::IsAborted(ask().status()));
  EXPECT_EQ(server_.arrivals("ByLevel"), 1);
  server_.AnswerWith(grpc::Status(grpc::StatusCode::DATA_LOSS, "listed"));
  EXPECT_TRUE(absl::IsDataLoss(ask().status()));
  EXPECT_EQ(server_.arrivals("ByLevel"), 3);
  EXPECT_EQ(FromOf("ByLevel", "retry.idempotent"), "true | .proto, option idempotency_level");
}

TEST_P(DeclaredPolicyTest, CachesAnAnswer) {
  Start();
  for (int i = 0; i < 2; ++i) {
    const auto reply = Ask(&shop::ShopClient::Cached, &shop::Shop::Stub::Cached);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->text(), "answer to one");
  }
  EXPECT_EQ(server_.arrivals("Cached"), 1);
}

TEST_P(DeclaredPolicyTest, OpensABreakerOfTheMethodsOwn) {
  Start();
  server_.AnswerWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  const auto ask = [&] { return Ask(&shop::ShopClient::Guarded, &shop::Shop::Stub::Guarded); };
  ask().IgnoreError();
  EXPECT_EQ(ReasonOf(ask().status()), reason::kCircuitBreakerOpen);
  EXPECT_EQ(server_.arrivals("Guarded"), 1);
  AskByService().IgnoreError();
  EXPECT_GE(server_.arrivals("ByService"), 1) << "another method has no breaker";
}

TEST_P(DeclaredPolicyTest, LeavesAnOptionalMethodOutAtALevel) {
  Start();
  consumer_->SetDegradation(DegradationLevel::kDegraded);
  const auto ask = [&] { return Ask(&shop::ShopClient::Advised, &shop::Shop::Stub::Advised); };
  const absl::Status status = ask().status();
  EXPECT_EQ(ReasonOf(status), reason::kDegraded);
  EXPECT_EQ(status.message(), "no advice today");
  EXPECT_EQ(GetErrorInfo(status)->retry_after().seconds(), 5);
  EXPECT_EQ(server_.arrivals("Advised"), 0);
  EXPECT_TRUE(AskByMethod().ok()) << "of normal importance";
  consumer_->SetDegradation(DegradationLevel::kNormal);
  EXPECT_TRUE(ask().ok());
  EXPECT_EQ(FromOf("Advised", "degradation.importance"),
            "optional | .proto, option (marpc.method)");
}

TEST_P(DeclaredPolicyTest, BoundsTheWholeCall) {
  Start();
  server_.Hang();
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(Ask(&shop::ShopClient::Timed, &shop::Shop::Stub::Timed).status()));
}

TEST_P(DeclaredPolicyTest, AnswersByTheFallbackThatIsNamed) {
  Start();
  server_.AnswerWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  const auto reply = Ask(&shop::ShopClient::Saved, &shop::Shop::Stub::Saved);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->text(), "saved");
}

TEST_P(DeclaredPolicyTest, AFallbackThatNobodyRegisteredIsSaidWhenTheClientIsMadeAndByEveryCall) {
  ASSERT_TRUE(Create({}, {}).ok()) << "the consumer has not heard of the service yet";
  const absl::Status status = Ask(&shop::ShopClient::Saved, &shop::Shop::Stub::Saved).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(ReasonOf(status), reason::kBadPolicy);
  const auto teaches = AllOf(HasSubstr("shop.Shop/Saved"), HasSubstr("fallback 'saved'"),
                             HasSubstr("ConsumerOptions::fallbacks"));
  EXPECT_THAT(std::string(status.message()), teaches);
  EXPECT_THAT(std::string(consumer_->WaitForService("shop.Shop").message()), teaches);
  EXPECT_THAT(consumer_->Describe("shop.Shop/Saved")->ToText(), teaches);
  EXPECT_EQ(server_.arrivals("Saved"), 0);
  EXPECT_TRUE(AskByService().ok()) << "the other methods serve";
}

TEST_P(DeclaredPolicyTest, AConsumerThatIsToldOfTheServiceFailsToStart) {
  const absl::Status status = Create({"services: {shop.Shop: {}}"}, {});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("shop.Shop/Saved"), HasSubstr("fallback 'saved'")));
}

// The same key at more and more places: the last one is in force.
TEST_P(DeclaredPolicyTest, YamlIsOverTheProtoAndCodeIsOverYaml) {
  struct Case {
    std::vector<std::string> keys;
    int retries;
    std::string from;
  };
  const std::vector<Case> cases = {
      {{}, 3, ".proto, option (marpc.method)"},
      {{"retry: {maxRetries: 0}"}, 0, "shop.yaml:3:11, at the top"},
      {{"retry: {maxRetries: 0}", "services: {shop.Shop: {retry: {maxRetries: 2}}}"},
       2,
       "shop.yaml:4:34, in a service"},
      {{"retry: {maxRetries: 0}", "services: {shop.Shop: {retry: {maxRetries: 2}, ",
        "  methods: {ByMethod: {retry.maxRetries: 1}}}}"},
       1,
       "shop.yaml:5:26, in a method"},
  };
  server_.AnswerWith(grpc::Status(grpc::StatusCode::ABORTED, "again"));
  int before = 0;
  for (const Case& one : cases) {
    Start(one.keys);
    AskByMethod().IgnoreError();
    EXPECT_EQ(server_.arrivals("ByMethod") - before, one.retries + 1) << one.from;
    EXPECT_EQ(FromOf("ByMethod", "retry.maxRetries"), absl::StrCat(one.retries, " | ", one.from));
    before = server_.arrivals("ByMethod");
  }
  ConsumerOptions options;
  options.policies = {{"shop.Shop", "retry.maxRetries: 4"},
                      {"shop.Shop/ByMethod", "retry: {maxRetries: 0}"}};
  Start(cases.back().keys, options);
  AskByMethod().IgnoreError();
  EXPECT_EQ(server_.arrivals("ByMethod") - before, 1);
  EXPECT_EQ(FromOf("ByMethod", "retry.maxRetries"), "0 | code");
  EXPECT_EQ(FromOf("ByService", "retry.maxRetries"), "4 | code");
}

TEST_P(DeclaredPolicyTest, SettingsChangedInCodeAreOverTheProto) {
  change_settings_ = [](Settings& settings) {
    settings.services["shop.Shop"].methods["ByMethod"] = settings.method_defaults;
    settings.services["shop.Shop"].methods["ByMethod"].retry.max_retries = 1;
  };
  Start();
  server_.AnswerWith(grpc::Status(grpc::StatusCode::ABORTED, "again"));
  AskByMethod().IgnoreError();
  EXPECT_EQ(server_.arrivals("ByMethod"), 2);
  EXPECT_EQ(FromOf("ByMethod", "retry.maxRetries"), "1 | code");
  EXPECT_EQ(FromOf("ByMethod", "retry.retryOn"), "[ABORTED] | .proto, option (marpc.service)");
}

TEST_P(DeclaredPolicyTest, YamlCanTakeAFallbackAway) {
  ASSERT_TRUE(Create({"services: {shop.Shop: {fallback: ''}}"}, {}).ok());
  server_.AnswerWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  EXPECT_TRUE(
      absl::IsUnavailable(Ask(&shop::ShopClient::Saved, &shop::Shop::Stub::Saved).status()));
  EXPECT_EQ(server_.arrivals("Saved"), 1);
}

class DeclaredGuildTest : public DeclaredPolicyTest {};
INSTANTIATE_TEST_SUITE_P(Clients, DeclaredGuildTest, ::testing::Values(Kind::kGenerated));

TEST_P(DeclaredGuildTest, ABreakerThatTheServiceDeclaresIsSharedByItsMethods) {
  Start({"retryPolicies: {patient: {maxRetries: 0}}"});
  server_.AnswerWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  const shop::GuildClient client(*consumer_);
  client.One({}).IgnoreError();
  EXPECT_EQ(ReasonOf(client.Two({}).status()), reason::kCircuitBreakerOpen);
  EXPECT_EQ(server_.arrivals("Two"), 0);
}

TEST_P(DeclaredGuildTest, ARetryPolicyIsTheOneThatTheFileDefines) {
  Start({"retryPolicies: {patient: {maxRetries: 7}}"});
  const auto description = consumer_->Describe("shop.Guild/One");
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ(description->Find("retry.maxRetries")->value, "7");
  EXPECT_EQ(description->Find("retry.maxRetries")->from,
            ".proto, option (marpc.service), by retry policy 'patient'");
}

TEST_P(DeclaredGuildTest, ARetryPolicyThatNobodyDefinesIsAnErrorThatNamesTheNearest) {
  Start({"retryPolicies: {pacient: {maxRetries: 7}}"});
  const absl::Status status = consumer_->WaitForService("shop.Guild");
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("option (marpc.service) of shop.Guild"),
                    HasSubstr("no policy 'patient'; did you mean 'pacient'?")));
}

class DeclaredScopesTest : public DeclaredPolicyTest {
 protected:
  absl::Status AskStall(bool one) {
    if (GetParam() == Kind::kGenerated) {
      const shop::StallClient client(*consumer_);
      return one ? client.One({}).status() : client.Two({}).status();
    }
    auto stub = shop::Stall::NewStub(consumer_->Channel("shop.Stall"));
    grpc::ClientContext context;
    shop::Text reply;
    return ToAbslStatus(one ? stub->One(&context, {}, &reply) : stub->Two(&context, {}, &reply));
  }
  std::vector<std::string> Breakers() {
    std::vector<std::string> names;
    for (const auto& [name, now, events] : consumer_->Breakers("shop.Stall")) names.push_back(name);
    return names;
  }
};
INSTANTIATE_TEST_SUITE_P(Clients, DeclaredScopesTest,
                         ::testing::Values(Kind::kGenerated, Kind::kStock));

TEST_P(DeclaredScopesTest, EachMethodAndEachInstanceHasABreakerOfItsOwn) {
  Start();
  server_.AnswerWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  AskStall(true).IgnoreError();
  EXPECT_EQ(ReasonOf(AskStall(true)), reason::kCircuitBreakerOpen);
  EXPECT_EQ(server_.arrivals("One"), 1) << "method: {fault_limit: 1}";
  AskStall(false).IgnoreError();
  EXPECT_EQ(server_.arrivals("Two"), 1) << "neither its method nor the instance is open";
  EXPECT_THAT(Breakers(),
              ::testing::UnorderedElementsAre("shop.Stall/One", "shop.Stall/Two",
                                              absl::StrCat("shop.Stall@", server_.endpoint())));
  const auto description = consumer_->Describe("shop.Stall/One");
  ASSERT_TRUE(description.ok()) << description.status();
  for (const auto& [key, value] : {std::pair("circuitbreaker.scope", "[method, instance]"),
                                   std::pair("circuitbreaker.activeProbe", "true")}) {
    const PolicyDescription::Entry* entry = description->Find(key);
    ASSERT_NE(entry, nullptr) << key;
    EXPECT_EQ(entry->value, value);
    EXPECT_EQ(entry->from, ".proto, option (marpc.service)");
  }
}

TEST_P(DeclaredScopesTest, YamlSaysOtherwise) {
  Start({"services: {shop.Stall: {circuitbreaker: {scope: service, faultLimit: 1}}}"});
  server_.AnswerWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  AskStall(true).IgnoreError();
  EXPECT_EQ(ReasonOf(AskStall(false)), reason::kCircuitBreakerOpen);
  EXPECT_THAT(Breakers(), ::testing::ElementsAre("shop.Stall"));
}

TEST(DescribeTest, NamesTheNearestOfAMethodOrServiceThatIsNotThere) {
  Settings settings;
  settings.registry.address = "static:";
  auto consumer = Consumer::Create(settings);
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  const auto fault = [&](absl::string_view method) {
    const absl::Status status = (*consumer)->Describe(method).status();
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(fault("shop.Shop/ByServic"), HasSubstr("did you mean 'ByService'?"));
  EXPECT_THAT(fault("shop.Shap/ByService"), HasSubstr("did you mean 'shop.Shop'?"));
  EXPECT_THAT(fault("ByService"), HasSubstr("like demo.HelloService/Hello"));
}

TEST(CodePoliciesTest, AServiceThatIsNotLinkedIsWarnedOf) {
  std::ostringstream log;
  SetLogger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  Settings settings;
  settings.registry.address = "static:";
  ConsumerOptions options;
  options.policies = {{"shop.Stall", "retry: {maxRetries: 1}"}};
  EXPECT_TRUE(Consumer::Create(settings, options).ok());
  EXPECT_EQ(log.str(), "");
  options.policies = {{"shop.Stal/One", "retry: {maxRetries: 1}"}};
  EXPECT_TRUE(Consumer::Create(settings, options).ok());
  EXPECT_THAT(log.str(), HasSubstr("shop.Stal/One: this process has no service"));
  SetLogger(nullptr);
}

TEST(DescribeTest, SaysTheLevelThatWasSwitchedToWhileRunning) {
  Settings settings;
  settings.registry.address = "static:";
  auto consumer = Consumer::Create(settings);
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  const auto level = [&] {
    const auto description = (*consumer)->Describe("shop.Shop/ByMethod");
    const PolicyDescription::Entry* entry = description->Find("degradation.level");
    return absl::StrCat(entry->value, " | ", entry->from);
  };
  EXPECT_EQ(level(), "normal | default");
  ASSERT_TRUE((*consumer)->SetDegradation("shop.Shop", DegradationLevel::kCoreOnly).ok());
  EXPECT_EQ(level(), "core-only | switched while running, from normal (default)");
}

TEST(DescribeTest, TextStandsInColumns) {
  Settings settings;
  settings.registry.address = "static:";
  settings.method_defaults.retry.policies = {};
  auto consumer = Consumer::Create(settings);
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  const auto description = (*consumer)->Describe("shop.Shop/ByMethod");
  ASSERT_TRUE(description.ok()) << description.status();
  const std::string text = description->ToText();
  EXPECT_THAT(text, HasSubstr("shop.Shop/ByMethod\n  retry.maxRetries "));
  const auto column = [&](absl::string_view key, absl::string_view word) {
    const size_t line = text.find(absl::StrCat("  ", key, " "));
    return text.find(std::string(word), line) - line;
  };
  EXPECT_EQ(column("retry.maxRetries", ".proto"), column("retry.timeout", "default"));
  EXPECT_EQ(column("retry.maxRetries", "3 "), column("filter.cache.enabled", "false"));
}

}  // namespace
}  // namespace marpc::testing
