// What a program adds in ConsumerOptions.
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "marpc/filter/filter.h"
#include "tests/consumer/yaml_fixture.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

using ::testing::ElementsAre;

class OwnPartsTest : public YamlFixture {
 protected:
  EchoServer a_;
  EchoServer b_;
};

// Always the last instance of the pool.
class LastBalancer final : public LoadBalancer {
 public:
  absl::string_view name() const override { return "last"; }
  std::unique_ptr<Picker> Build(absl::string_view, CandidateList candidates) override {
    class Last final : public Picker {
     public:
      explicit Last(LiveInstance* instance) : instance_(instance) {}
      LiveInstance* Pick(const PickQuery&) const override { return instance_; }

     private:
      LiveInstance* const instance_;
    };
    return std::make_unique<Last>(candidates.empty() ? nullptr : candidates.back()->live);
  }
};

TEST_F(OwnPartsTest, ALoadBalancerIsChosenByItsName) {
  ConsumerOptions options;
  std::string asked;
  options.load_balancers["last"] = [&](absl::string_view service) {
    asked = std::string(service);
    return std::make_unique<LastBalancer>();
  };
  StartFromYaml({a_.endpoint(), b_.endpoint()}, {"loadbalancer: last"}, options);
  demo::HelloServiceClient client(*consumer_);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(client.Hello(Request()).ok());
  EXPECT_EQ(asked, kHelloService);
  // The list is sorted by endpoint.
  EXPECT_EQ((a_.endpoint() < b_.endpoint() ? b_ : a_).arrivals(), 4);
}

TEST_F(OwnPartsTest, AServiceMayHaveAnotherLoadBalancerThanTheRest) {
  ConsumerOptions options;
  options.load_balancers["last"] = [](absl::string_view) {
    return std::make_unique<LastBalancer>();
  };
  StartFromYaml({a_.endpoint(), b_.endpoint()},
                {"loadbalancer: last", "services: {demo.HelloService: {loadbalancer: roundrobin}}"},
                options);
  demo::HelloServiceClient client(*consumer_);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(client.Hello(Request()).ok());
  EXPECT_EQ(a_.arrivals(), 2);
  EXPECT_EQ(b_.arrivals(), 2);
}

TEST_F(OwnPartsTest, AFallbackIsChosenByItsNameAndAnswersWhenAllIsSpent) {
  ConsumerOptions options;
  absl::Status seen;
  options.fallbacks["cached"] = [&](const Method& method, const google::protobuf::MessageLite&,
                                    const absl::Status& error,
                                    google::protobuf::MessageLite* reply) {
    EXPECT_EQ(method.full_name, "demo.HelloService/Hello");
    seen = error;
    static_cast<demo::HelloReply*>(reply)->set_message("from the fallback");
    return absl::OkStatus();
  };
  a_.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  StartFromYaml({a_.endpoint()},
                {"services: {demo.HelloService: {methods: {Hello: {fallback: cached}}}}"}, options);
  demo::HelloServiceClient client(*consumer_);
  CallReport report;
  CallOptions call;
  call.report = &report;
  const auto reply = client.Hello(Request(), call);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->message(), "from the fallback");
  EXPECT_EQ(report.answer, CallReport::Answer::kFallback);
  EXPECT_EQ(InfoOf(seen).reason(), reason::kConnection);
  EXPECT_EQ(consumer_->Counters(kHelloService).fallback_answers.load(), 1);
  // Another method has none.
  EXPECT_FALSE(client.Delay({}).ok());
}

TEST_F(OwnPartsTest, AnUnknownFallbackOrBalancerIsRefusedWithTheKnownNames) {
  settings_.method_defaults.fallback = "cached";
  EXPECT_THAT(std::string(Consumer::Create(settings_).status().message()),
              ::testing::HasSubstr("fallback 'cached' was not registered; registered: none"));
  settings_.method_defaults.fallback = "";
  settings_.service_defaults.load_balancer = "last";
  EXPECT_THAT(std::string(Consumer::Create(settings_).status().message()),
              ::testing::HasSubstr("known: random, roundrobin"));
}

// Writes down when it is asked.
class Tracing final : public Filter {
 public:
  Tracing(std::string name, int order, std::vector<std::string>& trace)
      : name_(std::move(name)), order_(order), trace_(trace) {}
  absl::string_view name() const override { return name_; }
  int order() const override { return order_; }
  bool AppliesTo(const Method& method, const MethodSettings&) const override {
    return method.name == "Hello";
  }
  Verdict Before(FilterCall&) override {
    trace_.push_back("before " + name_);
    return Verdict::Continue();
  }
  void After(FilterCall&, const absl::Status&) override { trace_.push_back("after " + name_); }
  void Abandoned(FilterCall&, const absl::Status&) override {
    trace_.push_back("abandoned " + name_);
  }

 private:
  const std::string name_;
  const int order_;
  std::vector<std::string>& trace_;
};

TEST_F(OwnPartsTest, FiltersSeeTheCallsThatTheyApplyToInTheirOrder) {
  std::vector<std::string> trace;
  ConsumerOptions options;
  options.filters.push_back(std::make_shared<Tracing>("late", 30, trace));
  options.filters.push_back(std::make_shared<Tracing>("early", 20, trace));
  StartFromYaml({a_.endpoint()}, {}, options);
  demo::HelloServiceClient client(*consumer_);
  ASSERT_TRUE(client.Hello(Request()).ok());
  EXPECT_THAT(trace, ElementsAre("before early", "before late", "after late", "after early"));
  trace.clear();
  client.Delay({}).IgnoreError();
  EXPECT_THAT(trace, ElementsAre());
  a_.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  client.Hello(Request()).IgnoreError();
  EXPECT_THAT(trace,
              ElementsAre("before early", "before late", "abandoned late", "abandoned early"));
}

// Calls go to the instance that the entry `to` names; others go nowhere.
class AddressRouter final : public Router {
 public:
  absl::string_view name() const override { return "address"; }
  std::unique_ptr<RouteTable> Build(CandidateList candidates) override {
    class Table final : public RouteTable {
     public:
      explicit Table(CandidateList candidates) {
        for (const Candidate* candidate : candidates) {
          pools_.push_back({candidate});
          names_.push_back(candidate->instance.endpoint.ToString());
        }
        pools_.emplace_back();
        names_.push_back("nowhere");
      }
      absl::Span<const Pool> pools() const override { return pools_; }
      int Choose(const RouteQuery& query, int) const override {
        const auto to = query.context.Get("to");
        const auto found = std::find(names_.begin(), names_.end(), to.value_or("nowhere"));
        return static_cast<int>(found - names_.begin());
      }
      int Fallback(int) const override { return -1; }
      std::string Describe(int pool) const override { return names_[pool]; }

     private:
      std::vector<Pool> pools_;
      std::vector<std::string> names_;
    };
    return std::make_unique<Table>(candidates);
  }
};

TEST_F(OwnPartsTest, ARouterNarrowsTheInstances) {
  ConsumerOptions options;
  options.routers.push_back([](absl::string_view) { return std::make_unique<AddressRouter>(); });
  StartFromYaml({a_.endpoint(), b_.endpoint()}, {}, options);
  demo::HelloServiceClient client(*consumer_);
  for (const EchoServer* server : {&a_, &b_, &a_}) {
    CallOptions call;
    ASSERT_TRUE(call.context.Set("to", server->endpoint()).ok());
    EXPECT_EQ(client.Hello(Request(), call)->instance(), server->endpoint());
  }
  const absl::Status status = client.Hello(Request()).status();
  EXPECT_EQ(InfoOf(status).reason(), reason::kNoAvailableInstance);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("2 known; router address left 0 (nowhere)"));
}

TEST_F(OwnPartsTest, EveryBreakersTransitionsAreTold) {
  std::vector<std::string> told;
  ConsumerOptions options;
  options.on_breaker_transition = [&](absl::string_view scope,
                                      const CircuitBreaker::Transition& transition) {
    told.push_back(absl::StrCat(scope, " ", BreakerStateName(transition.to)));
    throw std::runtime_error("goes no further");
  };
  StartFromYaml({a_.endpoint()},
                {"circuitbreaker: {enabled: true, faultLimit: 2}",
                 "services: {demo.HelloService: {methods: {Delay: {circuitbreaker: {faultLimit: "
                 "1}}}}}"},
                options);
  a_.Stop();
  demo::HelloServiceClient client(*consumer_);
  client.Hello(Request()).IgnoreError();
  EXPECT_THAT(told, ElementsAre());
  client.Hello(Request()).IgnoreError();
  EXPECT_THAT(told, ElementsAre("demo.HelloService OPEN"));
  client.Delay({}).IgnoreError();
  EXPECT_THAT(told, ElementsAre("demo.HelloService OPEN", "demo.HelloService/Delay OPEN"));
}

}  // namespace
}  // namespace marpc::testing
