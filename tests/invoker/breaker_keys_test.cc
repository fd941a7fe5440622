// Every key of the circuit breaker, from its line of YAML to what calls meet.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/config/keys.h"
#include "marpc/config/load.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using testing::Answer;
using testing::SimulatedAttempt;
using testing::SimulatedService;

SimulatedAttempt Refused(AttemptOutcome::Source source) {
  SimulatedAttempt attempt;
  attempt.outcome.status = absl::ResourceExhaustedError("refused");
  attempt.outcome.source = source;
  attempt.outcome.surely_not_sent = true;
  return attempt;
}

// Calls, one after the other: S succeeds, F is lost, B is answered with an error, O is turned away
// by an overloaded peer, L is too large, T1100 succeeds after 1100 ms, P never ends; +500 is time
// that passes. Says for each call the instance that it went to, x where a breaker refused it, r
// where a ramp did.
std::string Calls(const std::string& breaker_yaml, const std::string& script,
                  std::vector<std::string> instances = {"a"}) {
  std::vector<std::string> warnings;  // of keys that have no effect, which is what is looked for
  LoadOptions load;
  load.warnings = &warnings;
  const auto settings =
      ParseSettings(absl::StrCat("marpc: {circuitbreaker: {", breaker_yaml, "}}"), "test", load);
  if (!settings.ok()) return settings.status().ToString();
  SimulatedService::Options options;
  options.name = "test.BreakerKeys";
  options.instances = std::move(instances);
  options.settings = settings->method_defaults;
  options.settings.retry.timeout = absl::ZeroDuration();
  SimulatedService service(std::move(options));
  std::vector<std::unique_ptr<CallSession>> pending;
  const google::protobuf::Empty request;
  google::protobuf::Empty reply;
  const RpcContext context;
  std::string seen;
  for (const absl::string_view token : absl::StrSplit(script, ' ')) {
    int ms = 0;
    if (token.size() > 1 && !absl::SimpleAtoi(token.substr(1), &ms)) return "bad script";
    if (token[0] == '+') {
      service.clock().Advance(absl::Milliseconds(ms));
      continue;
    }
    if (token[0] == 'P') {
      CallInput input{
          .method = &service.method(), .request = &request, .reply = &reply, .context = &context};
      pending.push_back(std::make_unique<CallSession>(service.cell(), input));
      const Step step = pending.back()->Start(service.now());
      seen += step.instance != nullptr ? step.instance->endpoint().host() : "x";
      continue;
    }
    SimulatedAttempt attempt = Answer();
    if (token[0] == 'F') attempt = testing::LostRequest();
    if (token[0] == 'B') attempt = testing::HandlerFails(absl::StatusCode::kNotFound, "none");
    if (token[0] == 'O') attempt = Refused(AttemptOutcome::Source::kPeer);
    if (token[0] == 'L') attempt = Refused(AttemptOutcome::Source::kLocal);
    attempt.takes = absl::Milliseconds(ms);
    const auto result = service.Call(testing::InTurn({attempt}));
    seen += !result.instances.empty()                          ? result.instances[0]
            : result.reason() == reason::kCircuitBreakerOpen   ? "x"
            : result.reason() == reason::kCircuitBreakerRampUp ? "r"
                                                               : "?";
  }
  return seen;
}

struct Row {
  std::string key;  // below circuitbreaker
  std::string value;
  std::string base;  // the other keys
  std::string script;
  std::string with;
  std::string without;  // the key left out
};

const std::vector<Row>& Rows() {
  static const auto& rows = *new std::vector<Row>{
      {"enabled", "true", "faultLimit: 1", "F S", "ax", "aa"},
      {"scope", "instance", "enabled: true, faultLimit: 1", "F +6000 S S", "abb", "axx"},
      {"initialState", "forced-open", "enabled: true", "S", "x", "a"},
      {"record", "[OVERLOADED]", "enabled: true, faultLimit: 1", "O S", "ax", "aa"},
      {"ignore", "[CONNECTION]", "enabled: true, faultLimit: 1", "F S", "aa", "ax"},
      {"tripOn", "consecutiveFailures", "enabled: true, faultLimit: 1", "F S", "aa", "ax"},
      {"faultLimit", "2", "enabled: true", "F F S", "aax", "aaa"},
      {"windowSize", "1s", "enabled: true", "F F F F +1000 F S", "aaaaaa", "aaaaax"},
      {"successResets", "true", "enabled: true, faultLimit: 2", "F S F S", "aaaa", "aaax"},
      {"consecutiveFailures", "2", "enabled: true, tripOn: consecutiveFailures", "F F S", "aax",
       "aaa"},
      {"failureRate", "75", "enabled: true, tripOn: failureRate, minimumCalls: 4", "F F S S S",
       "aaaaa", "aaaax"},
      {"slowCallRate", "75", "enabled: true, tripOn: slowCallRate, minimumCalls: 4",
       "T1100 T1100 S S S", "aaaaa", "aaaax"},
      {"failedCalls", "2", "enabled: true, tripOn: failedCalls, minimumCalls: 1", "F F S", "aax",
       "aaa"},
      {"slowCallDuration", "300ms", "enabled: true, tripOn: slowCallRate, minimumCalls: 2",
       "T400 T400 S", "aax", "aaa"},
      {"slowCallsFail", "true", "enabled: true, faultLimit: 1", "T1100 S", "ax", "aa"},
      {"rateWindow", "calls",
       "enabled: true, tripOn: failureRate, minimumCalls: 2, rateWindowCalls: 2", "F +20000 F S",
       "aax", "aaa"},
      {"rateWindowSize", "1m", "enabled: true, tripOn: failureRate, minimumCalls: 2",
       "F +20000 F S", "aax", "aaa"},
      {"rateWindowBuckets", "1", "enabled: true, tripOn: failureRate, minimumCalls: 2",
       "F +9500 F S", "aaa", "aax"},
      {"rateWindowCalls", "2",
       "enabled: true, tripOn: failureRate, minimumCalls: 2, rateWindow: calls", "S S F S", "aaax",
       "aaaa"},
      {"minimumCalls", "2", "enabled: true, tripOn: failureRate", "F F S", "aax", "aaa"},
      {"successMayTrip", "false", "enabled: true, tripOn: failureRate, minimumCalls: 2", "F S S",
       "aaa", "aax"},
      {"halfOpenInitialDelay", "2s", "enabled: true, faultLimit: 1", "F +2000 S", "aa", "ax"},
      {"halfOpenDelay", "1s", "enabled: true, faultLimit: 1", "F +10000 F +1000 S", "aaa", "aax"},
      {"halfOpenDelayFactor", "3", "enabled: true, faultLimit: 1", "F +10000 F +5000 F +5000 S",
       "aaax", "aaaa"},
      {"halfOpenMaxDelay", "6s", "enabled: true, faultLimit: 1, halfOpenDelayFactor: 3",
       "F +10000 F +5000 F +6000 S", "aaaa", "aaax"},
      {"halfOpenJitter", "1", "enabled: true, faultLimit: 1", "F +10000 S +10000 S", "axa", "aaa"},
      {"halfOpen", "false", "enabled: true, faultLimit: 2", "F F +10000 F S", "aaaa", "aaax"},
      {"halfOpenProbes", "2", "enabled: true, faultLimit: 2", "F F +10000 S F S", "aaaax", "aaaaa"},
      {"halfOpenJudgedBy", "rate", "enabled: true, faultLimit: 1, halfOpenProbes: 3",
       "F +10000 F S S S", "aaaaa", "aaxxx"},
      {"halfOpenSuccesses", "2", "enabled: true, faultLimit: 2", "F F +10000 S F S", "aaaax",
       "aaaaa"},
      {"halfOpenFailures", "2", "enabled: true, faultLimit: 1", "F +10000 F S", "aaa", "aax"},
      {"halfOpenProbeTimeout", "1s", "enabled: true, faultLimit: 1", "F +10000 P +1000 S", "aaa",
       "aax"},
      {"halfOpenTimeLimit", "2s", "enabled: true, faultLimit: 1, halfOpenProbeTimeout: 1h",
       "F +10000 P +2000 S +5000 S", "aaxa", "aaxx"},
      {"halfOpenUndecided", "closed",
       "enabled: true, faultLimit: 1, halfOpenProbeTimeout: 1h, halfOpenTimeLimit: 2s",
       "F +10000 P +2000 S S", "aaaa", "aaxx"},
      {"rampUp", "10s", "enabled: true, faultLimit: 1", "F +10000 S S S", "aaar", "aaaa"},
      {"rampUpFrom", "100", "enabled: true, faultLimit: 1, rampUp: 10s", "F +10000 S S S", "aaaa",
       "aaar"},
  };
  return rows;
}

TEST(BreakerKeys, EveryKeyActsOnTheCallsOfTheService) {
  for (const Row& row : Rows()) {
    std::vector<std::string> instances = {"a"};
    if (row.key == "scope") instances.push_back("b");
    EXPECT_EQ(Calls(absl::StrCat(row.base, ", ", row.key, ": ", row.value), row.script, instances),
              row.with)
        << row.key;
    EXPECT_EQ(Calls(row.base, row.script, instances), row.without) << row.key << " left out";
  }
}

// The same for the keys that a scope may have of its own.
TEST(BreakerKeys, EveryKeyOfAScopeActsOnItsBreakers) {
  for (const std::string scope : {"method", "instance"}) {
    for (const Row& row : Rows()) {
      if (FindKey(absl::StrCat("circuitbreaker.", scope, ".", row.key)) == nullptr) continue;
      const std::string base = absl::StrCat(row.base, ", scope: ", scope);
      const std::string own = absl::StrCat(scope, ": {", row.key, ": ", row.value, "}");
      const std::string other = absl::StrCat(scope == "method" ? "instance" : "method", ": {",
                                             row.key, ": ", row.value, "}");
      EXPECT_EQ(Calls(absl::StrCat(base, ", ", own), row.script), row.with) << row.key;
      EXPECT_EQ(Calls(absl::StrCat(base, ", ", other), row.script), row.without) << row.key;
    }
  }
}

TEST(BreakerKeys, NoKeyIsLeftOut) {
  std::set<std::string> tried;
  for (const Row& row : Rows()) tried.insert(row.key);
  for (const Key& key : Keys()) {
    if (!absl::StartsWith(key.name, "circuitbreaker.")) continue;
    const std::string leaf = key.name.substr(key.name.rfind('.') + 1);
    // Of the service, not of one call: tests/invoker/health_test.cc, shared_breakers_test.cc.
    if (leaf == "activeProbe" || absl::StartsWith(key.name, "circuitbreaker.shared.")) continue;
    EXPECT_TRUE(tried.contains(leaf)) << key.name;
  }
}

TEST(BreakerKeys, WhatDoesNotCountUnlessItIsListed) {
  const std::string base = "enabled: true, faultLimit: 1";
  EXPECT_EQ(Calls(base, "B B L L O O S"), "aaaaaaa");
  EXPECT_EQ(Calls(base + ", record: [NOT_FOUND]", "B S"), "ax");
  EXPECT_EQ(Calls(base + ", record: [HANDLER]", "B S"), "ax") << "by its reason";
  // A code names what comes from the peer: a message too large is none of it.
  EXPECT_EQ(Calls(base + ", record: [RESOURCE_EXHAUSTED]", "L O S"), "aax");
  EXPECT_EQ(Calls(base + ", record: [MESSAGE_TOO_LARGE]", "O L S"), "aax");
  EXPECT_EQ(Calls(base + ", record: [NOT_FOUND], ignore: [NOT_FOUND]", "B S"), "aa");
}

TEST(BreakerKeys, AnIgnoredFailureGivesItsProbeBack) {
  const std::string base = "enabled: true, faultLimit: 1, ignore: [OVERLOADED, NOT_FOUND]";
  EXPECT_EQ(Calls(base, "F +10000 O B S S"), "aaaaa");
}

TEST(BreakerKeys, MistakesAreNamed) {
  using ::testing::HasSubstr;
  EXPECT_THAT(Calls("scope: [method, instances]", ""), HasSubstr("did you mean 'instance'"));
  EXPECT_THAT(Calls("tripOn: []", ""), HasSubstr("expected one or a list of faultLimit"));
  EXPECT_THAT(Calls("record: [OVERLOAD]", ""), HasSubstr("did you mean 'OVERLOADED'"));
  EXPECT_THAT(Calls("failureRate: 0", ""), HasSubstr("a number above 0, up to 100"));
  EXPECT_THAT(Calls("instance: {scope: service}", ""), HasSubstr("instance"));
}

}  // namespace
}  // namespace marpc
