// What operators say for the whole cluster, as consumers obey it.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "marpc/observe/log.h"
#include "marpc/registry/memory/memory_hub.h"
#include "marpc/registry/registry.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/consumer/consumer_fixture.h"
#include "tests/consumer/scripted_registry.h"
#include "tests/provider/gate.h"
#include "tests/registry/registry_fixture.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Level = DegradationLevel;
using State = BreakerState;

class DirectivesTest : public ConsumerFixture {
 protected:
  DirectivesTest() {
    settings_.registry.address =
        absl::StrCat("memory:", ::testing::UnitTest::GetInstance()->current_test_info()->name());
    settings_.method_defaults.circuit_breaker.enabled = true;
    settings_.method_defaults.circuit_breaker.scope = {.service = true, .instance = true};
    registry_ = *OpenRegistry(settings_);
    lease_ = *registry_->Register(kHelloService, ScriptedRegistry::At(server_.endpoint()));
    EXPECT_TRUE(Eventually([&] { return lease_->registered(); }));
  }
  // With its breakers made.
  Consumer& StartOne() {
    consumers_.push_back(*Consumer::Create(settings_));
    Ask(*consumers_.back()).IgnoreError();
    return *consumers_.back();
  }
  static absl::Status Ask(Consumer& consumer) {
    return demo::HelloServiceClient(consumer).Hello(Request()).status();
  }
  static State StateOf(Consumer& consumer, const std::string& name) {
    for (const auto& view : consumer.Breakers(kHelloService)) {
      if (view.name == name) return view.snapshot.state;
    }
    ADD_FAILURE() << "no breaker " << name;
    return State::kClosed;
  }
  bool AllBecome(State state, const std::string& name = kHelloService) {
    return Eventually([&] {
      for (const auto& consumer : consumers_) {
        if (StateOf(*consumer, name) != state) return false;
      }
      return true;
    });
  }
  bool AllBecome(Level level) {
    return Eventually([&] {
      for (const auto& consumer : consumers_) {
        if (consumer->Degradation(kHelloService) != level) return false;
      }
      return true;
    });
  }
  // A change that every consumer has heard of when this returns.
  void ChangeTheList() {
    const std::string endpoint = absl::StrCat("127.0.0.1:", ++last_port_);
    auto other = *registry_->Register(kHelloService, ScriptedRegistry::At(endpoint));
    const std::string name = absl::StrCat(kHelloService, "@", endpoint);
    EXPECT_TRUE(Eventually([&] {
      for (const auto& consumer : consumers_) {
        bool heard = false;
        for (const auto& view : consumer->Breakers(kHelloService)) heard |= view.name == name;
        if (!heard) return false;
      }
      return true;
    }));
  }
  std::string OfInstance() const { return absl::StrCat(kHelloService, "@", server_.endpoint()); }

  int last_port_ = 0;
  EchoServer server_;
  std::shared_ptr<Registry> registry_;
  std::unique_ptr<Lease> lease_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
};

TEST_F(DirectivesTest, ABreakerIsForcedInAllConsumersAndThoseThatStartLater) {
  Consumer& one = StartOne();
  StartOne();
  ASSERT_EQ(server_.arrivals(), 2);
  ASSERT_TRUE(one.ForceBreakerEverywhere(kHelloService, State::kForcedOpen).ok());
  ASSERT_TRUE(AllBecome(State::kForcedOpen));
  Consumer& late = StartOne();
  EXPECT_EQ(StateOf(late, kHelloService), State::kForcedOpen);
  EXPECT_EQ(InfoOf(Ask(late)).reason(), reason::kCircuitBreakerOpen);
  EXPECT_EQ(server_.arrivals(), 2) << "not even its first call was let through";
  ASSERT_TRUE(one.ForceBreakerEverywhere(kHelloService, State::kMetricsOnly).ok());
  ASSERT_TRUE(AllBecome(State::kMetricsOnly));
  ASSERT_TRUE(one.ForceBreakerEverywhere(kHelloService, State::kClosed).ok());
  ASSERT_TRUE(AllBecome(State::kClosed));
  EXPECT_TRUE(Ask(late).ok());
}

TEST_F(DirectivesTest, AnInstanceIsTakenOutEverywhereAndStaysOutWhenItComesBack) {
  Consumer& one = StartOne();
  StartOne();
  ASSERT_TRUE(one.ForceBreakerEverywhere(OfInstance(), State::kForcedOpen).ok());
  ASSERT_TRUE(AllBecome(State::kForcedOpen, OfInstance()));
  EXPECT_EQ(StateOf(one, kHelloService), State::kClosed);
  ASSERT_TRUE(lease_->Release(absl::Seconds(10)).ok());
  ASSERT_TRUE(Eventually([&] { return one.Breakers(kHelloService).size() == 1; }));
  lease_ = *registry_->Register(kHelloService, ScriptedRegistry::At(server_.endpoint()));
  ASSERT_TRUE(Eventually([&] { return one.Breakers(kHelloService).size() == 2; }));
  EXPECT_EQ(StateOf(one, OfInstance()), State::kForcedOpen);
  ASSERT_TRUE(one.ForceBreakerEverywhere(OfInstance(), State::kClosed).ok());
  EXPECT_TRUE(AllBecome(State::kClosed, OfInstance()));
}

TEST_F(DirectivesTest, ALaterWordOfTheProcessItselfHolds) {
  Consumer& one = StartOne();
  ASSERT_TRUE(one.ForceBreakerEverywhere(kHelloService, State::kForcedOpen).ok());
  ASSERT_TRUE(AllBecome(State::kForcedOpen));
  ASSERT_TRUE(one.ForceBreaker(kHelloService, State::kDisabled).ok());
  ChangeTheList();
  EXPECT_EQ(StateOf(one, kHelloService), State::kDisabled);
  StartOne();
  ASSERT_TRUE(one.ForceBreakerEverywhere(kHelloService, State::kClosed).ok());
  ASSERT_TRUE(Eventually([&] { return StateOf(*consumers_[1], kHelloService) == State::kClosed; }));
  ChangeTheList();
  EXPECT_EQ(StateOf(one, kHelloService), State::kDisabled);
}

TEST_F(DirectivesTest, TakenBackABreakerGoesBackToWhereItsSettingsLetItBegin) {
  settings_.method_defaults.circuit_breaker.initial_state = BreakerInitialState::kMetricsOnly;
  Consumer& one = StartOne();
  ASSERT_TRUE(one.ForceBreakerEverywhere(kHelloService, State::kForcedOpen).ok());
  ASSERT_TRUE(AllBecome(State::kForcedOpen));
  ASSERT_TRUE(one.ForceBreakerEverywhere(kHelloService, State::kClosed).ok());
  EXPECT_TRUE(AllBecome(State::kMetricsOnly));
}

TEST_F(DirectivesTest, ALevelHoldsForAllConsumersAndThoseThatStartLater) {
  Consumer& one = StartOne();
  StartOne();
  ASSERT_TRUE(one.SetDegradationEverywhere(kHelloService, Level::kDegraded).ok());
  ASSERT_TRUE(AllBecome(Level::kDegraded));
  Consumer& late = StartOne();
  EXPECT_EQ(late.Degradation(kHelloService), Level::kDegraded);
  ASSERT_TRUE(one.SetDegradationEverywhere(kHelloService, Level::kNormal).ok());
  EXPECT_TRUE(AllBecome(Level::kNormal));
}

TEST_F(DirectivesTest, TakenBackALevelIsWhatTheSettingsSay) {
  settings_.service_defaults.degradation_level = Level::kDegraded;
  Consumer& one = StartOne();
  ASSERT_TRUE(one.SetDegradationEverywhere(kHelloService, Level::kCoreOnly).ok());
  ASSERT_TRUE(AllBecome(Level::kCoreOnly));
  ASSERT_TRUE(one.registry().SetDirective(kHelloService, "level", "").ok());
  EXPECT_TRUE(AllBecome(Level::kDegraded));
}

TEST_F(DirectivesTest, ALaterLevelOfTheProcessItselfHolds) {
  Consumer& one = StartOne();
  ASSERT_TRUE(one.SetDegradationEverywhere(kHelloService, Level::kDegraded).ok());
  ASSERT_TRUE(AllBecome(Level::kDegraded));
  one.SetDegradation(Level::kCoreOnly);
  ChangeTheList();
  EXPECT_EQ(one.Degradation(kHelloService), Level::kCoreOnly);
  // A new directive is a later word, and that it is taken back is none.
  ASSERT_TRUE(one.SetDegradationEverywhere(kHelloService, Level::kNormal).ok());
  ASSERT_TRUE(AllBecome(Level::kNormal));
  ASSERT_TRUE(one.SetDegradation(kHelloService, Level::kCoreOnly).ok());
  ASSERT_TRUE(registry_->SetDirective(kHelloService, "level", "").ok());
  ChangeTheList();
  EXPECT_EQ(one.Degradation(kHelloService), Level::kCoreOnly);
}

TEST_F(DirectivesTest, AnOutageTakesNothingBack) {
  Consumer& one = StartOne();
  ASSERT_TRUE(one.ForceBreakerEverywhere(kHelloService, State::kForcedOpen).ok());
  ASSERT_TRUE(AllBecome(State::kForcedOpen));
  const auto hub = MemoryHub::Named(settings_.registry.address.substr(7));
  hub->SetReachable(false);
  ASSERT_TRUE(Eventually(
      [&] { return one.registry().state().connection == RegistryState::Connection::kLost; }));
  // Told after the consumer, as one listener after the other is.
  Recorder later;
  const auto subscription = one.registry().Subscribe(kHelloService, later.listener());
  ASSERT_NE(later.WaitForSource(ServiceSnapshot::Source::kKept), nullptr);
  EXPECT_EQ(StateOf(one, kHelloService), State::kForcedOpen);
  hub->SetReachable(true);
  ChangeTheList();
  EXPECT_EQ(StateOf(one, kHelloService), State::kForcedOpen);
}

TEST_F(DirectivesTest, AnEndpointMayBeWrittenAsItCanBeRead) {
  Consumer& one = StartOne();
  std::string other = OfInstance();
  other.insert(other.rfind(':') + 1, "0");
  ASSERT_TRUE(one.ForceBreakerEverywhere(other, State::kForcedOpen).ok());
  ASSERT_TRUE(AllBecome(State::kForcedOpen, OfInstance()));
  ASSERT_TRUE(one.ForceBreakerEverywhere(other, State::kClosed).ok());
  EXPECT_TRUE(AllBecome(State::kClosed, OfInstance()));
}

TEST_F(DirectivesTest, WhatIsMisspeltIsAnsweredWithWhatThereIs) {
  Consumer& one = StartOne();
  const auto force = [&](const std::string& name, State state) {
    return one.ForceBreakerEverywhere(name, state);
  };
  EXPECT_THAT(force("demo.HelloServices", State::kDisabled).ToString(),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("did you mean 'demo.HelloService'?")));
  EXPECT_THAT(force("demo.HelloService/Helo", State::kDisabled).ToString(),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("'Hello'")));
  EXPECT_EQ(force("demo.HelloService@nowhere", State::kDisabled).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(force(kHelloService, State::kOpen).ToString(),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("FORCED_OPEN")));
  EXPECT_THAT(one.SetDegradationEverywhere("demo.Hello", Level::kNormal).ToString(),
              HasSubstr("NOT_FOUND"));
  EXPECT_THAT(force("demo.HelloService/@10.0.0.1:80", State::kDisabled).ToString(),
              HasSubstr("has no method ''"));
  EXPECT_TRUE(force("demo.HelloService/Hello@10.0.0.1:80", State::kDisabled).ok());
  settings_.registry.address = "static:";
  Consumer& alone = StartOne();
  EXPECT_EQ(alone.SetDegradationEverywhere(kHelloService, Level::kNormal).code(),
            absl::StatusCode::kUnimplemented);
}

TEST_F(DirectivesTest, WhatIsNotUnderstoodIsWarnedOfOnceAndTheRestActs) {
  std::ostringstream log;
  SetLogger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  const auto scripted = std::make_shared<ScriptedRegistry>();
  const auto list = {ScriptedRegistry::At(server_.endpoint())};
  scripted->Publish(kHelloService, list);
  ConsumerOptions options;
  options.registry = scripted;
  StartConsumer(std::move(options));
  Ask(*consumer_).IgnoreError();
  Directives directives = {{"level", "degradde"},
                           {"speed", "high"},
                           {"breaker:demo.Other", "DISABLED"},
                           {"breaker:demo.HelloService", "FORCED_OPEN"}};
  scripted->Publish(kHelloService, list, directives);
  EXPECT_EQ(consumer_->Degradation(kHelloService), Level::kNormal);
  EXPECT_EQ(StateOf(*consumer_, kHelloService), State::kForcedOpen);
  EXPECT_THAT(log.str(),
              AllOf(HasSubstr("service=demo.HelloService key='level' value='degradde'"),
                    HasSubstr("did you mean 'degraded'?"), HasSubstr("key='speed' value='high'"),
                    HasSubstr("is none of demo.HelloService"),
                    HasSubstr("event=directive service=demo.HelloService "
                              "key='breaker:demo.HelloService' from=none to=FORCED_OPEN")));
  log.str("");
  directives["level"] = "degraded";
  scripted->Publish(kHelloService, list, directives);
  EXPECT_EQ(consumer_->Degradation(kHelloService), Level::kDegraded);
  EXPECT_THAT(log.str(), ::testing::Not(HasSubstr("not_understood")));
  scripted->Publish(kHelloService, list);
  EXPECT_EQ(consumer_->Degradation(kHelloService), Level::kNormal);
  EXPECT_EQ(StateOf(*consumer_, kHelloService), State::kClosed);
  EXPECT_THAT(log.str(), HasSubstr("key='level' from=degraded to=none"));
  consumer_.reset();
  SetLogger(nullptr);
}

// Lists as the test gives them out, and the log.
class ScriptedDirectivesTest : public DirectivesTest {
 protected:
  ScriptedDirectivesTest() {
    SetLogger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
    Say({});
    ConsumerOptions options;
    options.registry = scripted_;
    StartConsumer(std::move(options));
    Ask(*consumer_).IgnoreError();
  }
  ~ScriptedDirectivesTest() override {
    consumer_.reset();
    SetLogger(nullptr);
  }
  void Say(const Directives& directives) {
    scripted_->Publish(kHelloService, {ScriptedRegistry::At(server_.endpoint())}, directives);
  }

  std::ostringstream log_;
  const std::shared_ptr<ScriptedRegistry> scripted_ = std::make_shared<ScriptedRegistry>();
};

TEST_F(ScriptedDirectivesTest, AWordThatNobodyUnderstandsTakesNoOtherOneBack) {
  Say({{"level", "degraded"}, {"breaker:demo.HelloService", "FORCED_OPEN"}});
  ASSERT_EQ(StateOf(*consumer_, kHelloService), State::kForcedOpen);
  for (int i = 0; i < 2; ++i) {
    Say({{"level", "degradde"}, {"breaker:demo.HelloService", "FORCED_OPE"}});
    EXPECT_EQ(consumer_->Degradation(kHelloService), Level::kDegraded);
    EXPECT_EQ(StateOf(*consumer_, kHelloService), State::kForcedOpen);
  }
  EXPECT_THAT(log_.str(), HasSubstr("key='level' value='degradde'"));
  Say({});
  EXPECT_EQ(consumer_->Degradation(kHelloService), Level::kNormal);
  EXPECT_EQ(StateOf(*consumer_, kHelloService), State::kClosed);
}

TEST_F(ScriptedDirectivesTest, ADirectiveWithoutABreakerIsWarnedOfOnce) {
  const Directives stray = {{"breaker:demo.HelloService/Helo", "FORCED_OPEN"},
                            {"breaker:demo.HelloService", "DISABLED"}};
  Say(stray);
  EXPECT_THAT(log_.str(),
              AllOf(HasSubstr("event=directive_without_breaker service=demo.HelloService "
                              "breaker='demo.HelloService/Helo'"),
                    HasSubstr(absl::StrCat("there are demo.HelloService, ", OfInstance()))));
  EXPECT_THAT(log_.str(), Not(HasSubstr("breaker='demo.HelloService' ")));
  log_.str("");
  Say(stray);
  EXPECT_THAT(log_.str(), Not(HasSubstr("without_breaker")));
  Say({});
  EXPECT_THAT(log_.str(), Not(HasSubstr("without_breaker")));
}

TEST_F(ScriptedDirectivesTest, ADirectiveThatComesWithItsInstanceHasABreaker) {
  scripted_->Publish(kHelloService, {ScriptedRegistry::At("127.0.0.1:1")},
                     {{"breaker:demo.HelloService@127.0.0.1:1", "FORCED_OPEN"}});
  EXPECT_EQ(StateOf(*consumer_, "demo.HelloService@127.0.0.1:1"), State::kForcedOpen);
  EXPECT_THAT(log_.str(), Not(HasSubstr("without_breaker")));
}

}  // namespace
}  // namespace marpc::testing
