// Breakers of services, methods and instances in the way of a call.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/loadbalance/random_balancer.h"
#include "marpc/router/gray_router.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using testing::Answer;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::InTurn;
using ::testing::IsEmpty;
using testing::LostRequest;
using ::testing::Not;
using testing::SimulatedBackend;
using testing::SimulatedResult;
using testing::SimulatedService;

SimulatedService::Options Options(BreakerScopes scope) {
  SimulatedService::Options options;
  options.name = "test.BreakerScopes";
  options.instances = {"a", "b", "c"};
  options.settings.circuit_breaker.enabled = true;
  options.settings.circuit_breaker.scope = scope;
  options.settings.circuit_breaker.fault_limit = 1;
  return options;
}
constexpr BreakerScopes kMethod = {.service = false, .method = true, .instance = false};
constexpr BreakerScopes kInstance = {.service = false, .method = false, .instance = true};

// These instances lose what they are asked.
SimulatedBackend Sick(std::set<std::string> sick) {
  return [sick = std::move(sick)](const std::string& instance, const Step&) {
    return sick.contains(instance) ? LostRequest() : Answer();
  };
}

// Where `calls` calls go, once instances that could not be reached are tried again.
std::vector<std::string> Seen(SimulatedService& service, const SimulatedBackend& backend,
                              int calls) {
  std::vector<std::string> seen;
  service.clock().Advance(absl::Milliseconds(500));
  for (int i = 0; i < calls; ++i) {
    const SimulatedResult result = service.Call(backend);
    seen.push_back(result.instances.empty() ? result.reason() : result.instances[0]);
  }
  return seen;
}

TEST(BreakerScopes, OneSickMethodDoesNotOpenItsNeighboursAtMethodScope) {
  SimulatedService service(Options(kMethod));
  service.Call(InTurn({LostRequest()}), {.method = "Sick"});
  EXPECT_EQ(service.Call(InTurn({Answer()}), {.method = "Sick"}).reason(),
            reason::kCircuitBreakerOpen);
  EXPECT_TRUE(service.Call(InTurn({Answer()}), {.method = "Well"}).status.ok());
  EXPECT_EQ(service.breaker("/Sick").state(), BreakerState::kOpen);
  EXPECT_EQ(service.breaker("/Well").state(), BreakerState::kClosed);
}

TEST(BreakerScopes, AnOpenInstanceIsPassedOverWithoutARefusal) {
  for (const bool at_random : {false, true}) {
    SimulatedService::Options options = Options(kInstance);
    if (at_random) options.balancer = std::make_unique<RandomBalancer>();
    SimulatedService service(std::move(options));
    for (int i = 0; i < 20; ++i) service.random().draws.push_back(i % 3 / 3.0 + 0.1);
    const SimulatedBackend backend = Sick({"a"});
    while (service.breaker("@a:1").state() == BreakerState::kClosed) service.Call(backend);
    for (int i = 0; i < 300; ++i) service.random().draws.push_back(i % 7 / 7.0);
    const auto seen = Seen(service, backend, 60);
    EXPECT_THAT(seen, Not(Contains("a")));
    EXPECT_THAT(seen, Contains("b").Times(::testing::Ge(10)));
    EXPECT_THAT(seen, Contains("c").Times(::testing::Ge(10)));
    EXPECT_EQ(service.counters().refused_by_breaker.load(), 0u);
  }
}

TEST(BreakerScopes, TheProbeOfAnInstanceIsACallLikeAnyOther) {
  SimulatedService service(Options(kInstance));
  const SimulatedBackend sick = Sick({"a"});
  service.Call(sick);
  ASSERT_EQ(service.breaker("@a:1").state(), BreakerState::kOpen);
  service.clock().Advance(absl::Seconds(10));
  EXPECT_THAT(Seen(service, sick, 30), Contains("a").Times(1)) << "one probe, and it failed";
  service.clock().Advance(absl::Seconds(5));
  EXPECT_THAT(Seen(service, Sick({}), 30), Contains("a").Times(10)) << "back for good";
  EXPECT_EQ(service.breaker("@a:1").state(), BreakerState::kClosed);
}

TEST(BreakerScopes, ARetryFindsAnotherInstanceWhileTheFailedOneOpens) {
  SimulatedService::Options options = Options(kInstance);
  options.settings.retry.max_retries = 2;
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(Sick({"a"}));
  EXPECT_TRUE(result.status.ok());
  EXPECT_THAT(result.instances, ElementsAre("a", "b"));
}

TEST(BreakerScopes, ARetryWithAllInstancesOpenEndsWithTheLastRealError) {
  SimulatedService::Options options = Options(kInstance);
  options.settings.retry.max_retries = 9;
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(Sick({"a", "b", "c"}));
  EXPECT_THAT(result.instances, ElementsAre("a", "b", "c"));
  EXPECT_EQ(result.reason(), reason::kConnection);
}

TEST(BreakerScopes, WithAllInstancesOpenACallIsRefusedAndToldUntilWhen) {
  SimulatedService service(Options(kInstance));
  const SimulatedBackend sick = Sick({"a", "b", "c"});
  for (int i = 0; i < 3; ++i) {
    service.Call(sick);
    service.clock().Advance(absl::Seconds(1));
  }
  for (int i = 0; i < 2; ++i) {  // the second time from what is known of the first
    const SimulatedResult refused = service.Call(sick);
    EXPECT_THAT(refused.instances, IsEmpty());
    EXPECT_EQ(refused.reason(), reason::kCircuitBreakerOpen);
    EXPECT_EQ(GetErrorInfo(refused.status)->retry_after().seconds(), 7);
  }
  EXPECT_EQ(service.counters().refused_by_breaker.load(), 2u);
  EXPECT_EQ(service.counters().without_instance.load(), 0u);
  service.clock().Advance(absl::Seconds(7));
  EXPECT_THAT(service.Call(Sick({})).instances, ElementsAre("a")) << "the first to be due";
}

TEST(BreakerScopes, AnInstanceThatIsAddedIsUsedThoughAllOthersAreOpen) {
  SimulatedService service(Options(kInstance));
  const SimulatedBackend sick = Sick({"a", "b", "c"});
  for (int i = 0; i < 4; ++i) service.Call(sick);
  service.SetInstances({"a", "b", "c", "d"});
  EXPECT_THAT(Seen(service, sick, 3), ElementsAre("d", "d", "d"));
}

TEST(BreakerScopes, AnInstanceKeepsItsBreakerWhileItIsListed) {
  SimulatedService service(Options(kInstance));
  service.Call(Sick({"a"}));
  service.SetInstances({"c", "a", "b"});
  EXPECT_EQ(service.breaker("@a:1").state(), BreakerState::kOpen);
  EXPECT_THAT(Seen(service, Sick({"a"}), 30), Not(Contains("a")));
  service.SetInstances({"b", "c"});
  EXPECT_THAT(Seen(service, Sick({"a"}), 4), Not(Contains(reason::kCircuitBreakerOpen)));
}

TEST(BreakerScopes, ScopesAtOnceEachNeedAPermit) {
  SimulatedService::Options options = Options({.service = true, .method = true, .instance = true});
  options.settings.circuit_breaker.fault_limit = 100;
  options.settings.circuit_breaker.method.fault_limit = 2;
  options.settings.circuit_breaker.instance.fault_limit = 1;
  SimulatedService service(std::move(options));
  const SimulatedBackend sick = Sick({"a", "b"});
  EXPECT_THAT(service.Call(sick).instances, ElementsAre("a"));
  EXPECT_EQ(service.breaker("@a:1").state(), BreakerState::kOpen);
  EXPECT_THAT(service.Call(sick).instances, ElementsAre("b"));
  EXPECT_EQ(service.breaker("/Call").state(), BreakerState::kOpen);
  EXPECT_EQ(service.Call(sick).reason(), reason::kCircuitBreakerOpen);
  EXPECT_EQ(service.breaker("").state(), BreakerState::kClosed);
  EXPECT_THAT(service.Call(sick, {.method = "Other"}).instances, ElementsAre("c"));
}

TEST(BreakerScopes, APermitOfOneScopeIsGivenBackWhenAnotherRefuses) {
  SimulatedService::Options options = Options({.service = true, .method = true, .instance = false});
  options.settings.circuit_breaker.method.half_open_initial_delay = absl::Minutes(1);
  SimulatedService service(std::move(options));
  service.Call(Sick({"a"}));  // opens both
  service.clock().Advance(absl::Seconds(10));
  EXPECT_EQ(service.Call(Sick({})).reason(), reason::kCircuitBreakerOpen);
  EXPECT_EQ(service.breaker("").state(), BreakerState::kHalfOpen);
  EXPECT_EQ(service.breaker("").GetSnapshot(service.clock().Now()).probes_out, 0);
}

TEST(BreakerScopes, TheRampOfAnInstanceSendsTheRestToTheOthers) {
  SimulatedService::Options options = Options(kInstance);
  options.settings.circuit_breaker.ramp_up = absl::Seconds(100);
  options.settings.circuit_breaker.ramp_up_from = 10;
  SimulatedService service(std::move(options));
  service.Call(Sick({"a"}));
  service.clock().Advance(absl::Seconds(10));
  while (service.breaker("@a:1").state() != BreakerState::kClosed) service.Call(Sick({}));
  const auto seen = Seen(service, Sick({}), 300);
  EXPECT_THAT(seen, Contains("a").Times(::testing::AllOf(::testing::Ge(8), ::testing::Le(20))));
  EXPECT_THAT(seen, Not(Contains(reason::kCircuitBreakerRampUp)));
}

TEST(BreakerScopes, HoweverManyRampUpNoCallIsRefusedWhileOneInstanceIsClosed) {
  SimulatedService::Options options = Options(kInstance);
  std::vector<std::string> back;
  for (int i = 0; i < 40; ++i) back.push_back(absl::StrCat("back", i));
  options.instances = back;
  options.instances.push_back("well");
  options.settings.circuit_breaker.ramp_up = absl::Seconds(1000);
  options.settings.circuit_breaker.ramp_up_from = 1;
  SimulatedService service(std::move(options));
  Seen(service, Sick({back.begin(), back.end()}), 200);
  service.clock().Advance(absl::Seconds(10));
  Seen(service, Sick({}), 200);
  for (const std::string& name : back) {
    ASSERT_EQ(service.breaker(absl::StrCat("@", name, ":1")).state(), BreakerState::kClosed);
  }
  const auto seen = Seen(service, Sick({}), 200);
  EXPECT_THAT(seen, Not(Contains(reason::kCircuitBreakerRampUp)));
  EXPECT_THAT(seen, Contains("well").Times(::testing::Ge(100)));
}

TEST(BreakerScopes, TheRampOfTheLastInstanceRefusesWithItsOwnReason) {
  SimulatedService::Options options = Options(kInstance);
  options.instances = {"a"};
  options.settings.circuit_breaker.ramp_up = absl::Seconds(100);
  SimulatedService service(std::move(options));
  service.Call(Sick({"a"}));
  service.clock().Advance(absl::Seconds(10));
  const auto seen = Seen(service, Sick({}), 12);
  EXPECT_THAT(seen, Contains("a").Times(3)) << "the probe, the first, and one of ten";
  EXPECT_THAT(seen, Contains(reason::kCircuitBreakerRampUp).Times(9));
  EXPECT_EQ(service.counters().refused_by_ramp.load(), 9u);
  EXPECT_EQ(service.counters().refused_by_breaker.load(), 0u);
}

TEST(BreakerScopes, WithAllGrayInstancesOpenACallLeavesGrayForNormal) {
  SimulatedService::Options options = Options(kInstance);
  options.gray = {"a"};
  GrayRouterSettings gray;
  gray.enabled = true;
  gray.ratio = 100;
  options.routers = {*GrayRouter::Create(gray)};
  SimulatedService service(std::move(options));
  EXPECT_THAT(service.Call(Sick({"a"})).instances, ElementsAre("a"));
  const auto seen = Seen(service, Sick({"a"}), 6);
  EXPECT_THAT(seen, Not(Contains("a")));
  EXPECT_THAT(seen, Not(Contains(reason::kCircuitBreakerOpen)));
  EXPECT_GE(service.counters().router_fallbacks.load(), 6u);
}

TEST(BreakerScopes, CallsThatHangOpenTheirInstanceBeforeTheyEnd) {
  SimulatedService::Options options = Options(kInstance);
  options.instances = {"a", "b"};
  BreakerRules& rules = options.settings.circuit_breaker;
  rules.trip_on = {.fault_limit = false, .slow_call_rate = true};
  rules.minimum_calls = 2;
  options.settings.retry.timeout = absl::ZeroDuration();
  SimulatedService service(std::move(options));
  google::protobuf::Value request, reply;
  const RpcContext context;
  CallInput input{
      .method = &service.method(), .request = &request, .reply = &reply, .context = &context};
  std::vector<std::unique_ptr<CallSession>> hanging;
  for (int i = 0; i < 4; ++i) {
    hanging.push_back(std::make_unique<CallSession>(service.cell(), input));
    const Step step = hanging.back()->Start(service.now());
    if (step.instance->endpoint().host() == "b") {
      hanging.back()->OnAttemptDone(0, AttemptOutcome(), service.now());
    }
  }
  service.clock().Advance(absl::Seconds(1) + absl::Milliseconds(1));
  EXPECT_THAT(Seen(service, Sick({}), 6), Not(Contains("a")));
  EXPECT_EQ(service.breaker("@a:1").state(), BreakerState::kOpen);
}

TEST(BreakerScopes, AForcedOpenInstanceTakesNoCallAtAll) {
  SimulatedService service(Options(kInstance));
  service.Call(Sick({}));
  service.breaker("@b:1").Force(BreakerState::kForcedOpen, service.clock().Now());
  service.clock().Advance(absl::Hours(1));
  EXPECT_THAT(Seen(service, Sick({}), 30), Not(Contains("b")));
  service.breaker("@b:1").Reset(service.clock().Now());
  EXPECT_THAT(Seen(service, Sick({}), 30), Contains("b").Times(10));
}

TEST(BreakerScopes, ThousandsOfOpenInstancesCostACallNoMoreThanALook) {
  SimulatedService::Options options = Options(kInstance);
  options.instances.clear();
  for (int i = 0; i < 10'000; ++i) options.instances.push_back(absl::StrCat("n", i));
  SimulatedService service(std::move(options));
  for (int i = 0; i < 10'000; ++i) service.Call(InTurn({LostRequest()}));
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(service.Call(InTurn({Answer()})).reason(), reason::kCircuitBreakerOpen);
  }
}

}  // namespace
}  // namespace marpc
