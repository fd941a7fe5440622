// Keys of a consumer's YAML, each seen to act.
#include "gmock/gmock.h"
#include "marpc/consumer/gray_marks.h"
#include "marpc/filter/mock_filter.h"
#include "tests/consumer/yaml_fixture.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

using ::testing::HasSubstr;

class YamlKeysTest : public YamlFixture {
 protected:
  static std::string MessageOf(const absl::StatusOr<demo::HelloReply>& reply) {
    return reply.ok() ? reply->message() : reply.status().ToString();
  }
  void FailLikeASickProcess() { a_.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick")); }

  EchoServer a_;
  EchoServer b_;
};

// --- one value at the top, another at the service, another at the method

TEST_F(YamlKeysTest, MockIsOnWhereItsLevelSaysSo) {
  StartFromYaml(
      {a_.endpoint()},
      {"filter: {mock: {enabled: true}}",
       "services: {demo.HelloService: {filter: {mock: {enabled: false}}, methods: "
       "{Hello: {filter: {mock: {enabled: true, reply: '{\"message\": \"mocked\"}'}}}}}}"});
  consumer_->mock().Fail("Delay", absl::NotFoundError("mocked too"));
  demo::HelloServiceClient client(*consumer_);
  EXPECT_EQ(MessageOf(client.Hello(Request())), "mocked");
  EXPECT_EQ(a_.arrivals(), 0);
  // Off for the service: the mock set in code is not asked, and the server knows no Delay.
  EXPECT_TRUE(absl::IsUnimplemented(client.Delay({}).status()));
}

TEST_F(YamlKeysTest, AMockedStatusIsTheMethodsOwn) {
  StartFromYaml({a_.endpoint()},
                {"services: {demo.HelloService: {methods: {Hello: {filter: {mock: {enabled: true, "
                 "code: NOT_FOUND, message: nobody}}}}}}"});
  demo::HelloServiceClient client(*consumer_);
  const absl::Status status = client.Hello(Request()).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(status.message(), "nobody");
  EXPECT_EQ(InfoOf(status).reason(), reason::kMocked);
}

TEST_F(YamlKeysTest, CacheIsOnWhereItsLevelSaysSo) {
  const std::string on = "filter: {cache: {enabled: true}}";
  const std::string off = "filter: {cache: {enabled: false}}";
  struct Case {
    std::vector<std::string> keys;
    bool cached;
  };
  const std::vector<Case> cases = {
      {{on}, true},
      {{on, absl::StrCat("services: {demo.HelloService: {", off, "}}")}, false},
      {{absl::StrCat("services: {demo.HelloService: {", on, "}}")}, true},
      {{absl::StrCat("services: {demo.HelloService: {", on, ", methods: {Hello: {", off, "}}}}")},
       false},
      {{absl::StrCat("services: {demo.HelloService: {methods: {Hello: {", on, "}}}}")}, true},
      {{absl::StrCat("services: {demo.HelloService: {methods: {Delay: {", on, "}}}}")}, false},
      // One for all methods is for those that may be called twice.
      {{on, "retry: {idempotent: false}"}, false},
      {{absl::StrCat("services: {demo.HelloService: {", on, "}}"), "retry: {idempotent: false}"},
       false},
      {{absl::StrCat("services: {demo.HelloService: {methods: {Hello: {", on, "}}}}"),
        "retry: {idempotent: false}"},
       true},
  };
  for (const Case& one : cases) {
    EchoServer server;
    StartFromYaml({server.endpoint()}, one.keys);
    demo::HelloServiceClient client(*consumer_);
    ASSERT_TRUE(client.Hello(Request()).ok());
    ASSERT_TRUE(client.Hello(Request()).ok());
    EXPECT_EQ(server.arrivals(), one.cached ? 1 : 2) << absl::StrJoin(one.keys, " ");
  }
}

TEST_F(YamlKeysTest, BreakerIsOnWhereItsLevelSaysSo) {
  const std::string on = "circuitbreaker: {enabled: true, faultLimit: 1}";
  const std::string off = "circuitbreaker: {enabled: false}";
  struct Case {
    std::vector<std::string> keys;
    bool breaks;
  };
  const std::vector<Case> cases = {
      {{on}, true},
      {{on, absl::StrCat("services: {demo.HelloService: {", off, "}}")}, false},
      {{absl::StrCat("services: {demo.HelloService: {", on, "}}")}, true},
      {{absl::StrCat("services: {demo.HelloService: {", on, ", methods: {Hello: {", off, "}}}}")},
       false},
      {{absl::StrCat("services: {demo.HelloService: {methods: {Hello: {", on, "}}}}")}, true},
  };
  FailLikeASickProcess();
  for (const Case& one : cases) {
    StartFromYaml({a_.endpoint()}, one.keys);
    demo::HelloServiceClient client(*consumer_);
    EXPECT_EQ(InfoOf(client.Hello(Request()).status()).reason(), reason::kConnection);
    EXPECT_EQ(InfoOf(client.Hello(Request()).status()).reason(),
              one.breaks ? reason::kCircuitBreakerOpen : reason::kConnection)
        << absl::StrJoin(one.keys, " ");
  }
}

TEST_F(YamlKeysTest, BreakerScopeSaysWhoFailsTogether) {
  FailLikeASickProcess();
  for (const std::string scope : {"service", "method"}) {
    StartFromYaml({a_.endpoint()}, {absl::StrCat("circuitbreaker: {enabled: true, faultLimit: 1, "
                                                 "halfOpenInitialDelay: 1h, scope: ",
                                                 scope, "}")});
    demo::HelloServiceClient client(*consumer_);
    EXPECT_EQ(InfoOf(client.Hello(Request()).status()).reason(), reason::kConnection);
    EXPECT_EQ(InfoOf(client.Hello(Request()).status()).reason(), reason::kCircuitBreakerOpen);
    // Of another method, which the server answers: that it has none.
    EXPECT_EQ(InfoOf(client.Delay({}).status()).reason(),
              scope == "method" ? reason::kPeerStatus : reason::kCircuitBreakerOpen)
        << scope;
  }
}

// --- gray

TEST_F(YamlKeysTest, GrayRatioIsTheShareOfMarkedInstances) {
  struct Case {
    std::vector<std::string> keys;
    int to_gray;  // of ten calls
  };
  const std::vector<Case> cases = {
      {{"router: {gray: {enabled: true, ratio: 100}}"}, 10},
      {{"router: {gray: {enabled: true, ratio: 0}}"}, 0},
      {{"router: {gray: {enabled: true, ratio: 100}}",
        "services: {demo.HelloService: {router: {gray: {ratio: 0}}}}"},
       0},
      {{"services: {demo.HelloService: {router: {gray: {enabled: true, ratio: 100}}}}"}, 10},
      {{"router: {gray: {enabled: true, ratio: 100}}",
        "services: {demo.HelloService: {router: {gray: {enabled: false}}}}"},
       5},  // no router: the balancer's turns
  };
  for (const Case& one : cases) {
    StartFromYaml({a_.endpoint(), b_.endpoint()}, one.keys);
    ASSERT_TRUE(consumer_->gray().Mark(b_.endpoint()).ok());
    demo::HelloServiceClient client(*consumer_);
    const int before = b_.arrivals();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(client.Hello(Request()).ok());
    EXPECT_EQ(b_.arrivals() - before, one.to_gray) << absl::StrJoin(one.keys, " ");
  }
}

TEST_F(YamlKeysTest, MarksOfThisProcessActOnTheNextCall) {
  StartFromYaml({a_.endpoint(), b_.endpoint()}, {"router: {gray: {enabled: true, ratio: 0}}"});
  demo::HelloServiceClient client(*consumer_);
  const auto instance = [&] { return client.Hello(Request())->instance(); };
  ASSERT_TRUE(consumer_->gray().Mark(a_.endpoint()).ok());
  EXPECT_THAT(consumer_->gray().Marked(), ::testing::ElementsAre(*Endpoint::Parse(a_.endpoint())));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(instance(), b_.endpoint());
  ASSERT_TRUE(consumer_->gray().Unmark(a_.endpoint()).ok());
  ASSERT_TRUE(consumer_->gray().Mark(b_.endpoint()).ok());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(instance(), a_.endpoint());
  consumer_->gray().Clear();
  EXPECT_NE(instance(), instance());  // in turn again
  EXPECT_TRUE(absl::IsInvalidArgument(consumer_->gray().Mark("nowhere")));
}

// --- sizes

TEST_F(YamlKeysTest, MaxSendMessageSizeBoundsRequests) {
  StartFromYaml({a_.endpoint()}, {"transport: {maxSendMessageSize: 2KiB}"});
  demo::HelloServiceClient client(*consumer_);
  EXPECT_TRUE(client.Hello(Request(std::string(1000, 'x'))).ok());
  AsyncReply reply;
  client.HelloAsync(Request(std::string(3000, 'x')), reply.done());
  ASSERT_TRUE(reply.Came());
  for (const absl::Status& status :
       {client.Hello(Request(std::string(3000, 'x'))).status(), reply.status()}) {
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_EQ(InfoOf(status).reason(), reason::kMessageTooLarge);
    EXPECT_THAT(std::string(status.message()), HasSubstr("transport.maxSendMessageSize"));
  }
  EXPECT_EQ(a_.arrivals(), 1);
}

}  // namespace
}  // namespace marpc::testing
