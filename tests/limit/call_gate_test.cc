#include "marpc/limit/call_gate.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Verdict = CallGate::Decision::Verdict;

constexpr char kHello[] = "demo.HelloService/Hello";
constexpr char kDelay[] = "demo.HelloService/Delay";

ConcurrencyLimit Calls(int n) { return ConcurrencyLimit{.calls = n}; }

// ProviderLimitSettings by name of the field, the rest as it is by default.
struct Limits {
  ByCallName<ConcurrencyLimit> max_concurrent = {};
  ByCallName<double> rate = {};
  double caller_rate = 0;
  int max_waiting = 0;
  absl::Duration max_wait = absl::Milliseconds(100);
  double normal_share = 100;
  double sheddable_share = 80;
  absl::Duration pushback = absl::Milliseconds(50);
  GradientSettings gradient = {};

  operator ProviderLimitSettings() const {  // NOLINT: stands for one
    ProviderLimitSettings settings;
    settings.max_concurrent = max_concurrent;
    settings.rate = rate;
    settings.caller_rate = caller_rate;
    settings.max_waiting = max_waiting;
    settings.max_wait = max_wait;
    settings.normal_share = normal_share;
    settings.sheddable_share = sheddable_share;
    settings.pushback = pushback;
    settings.gradient = gradient;
    return settings;
  }
};

// Calls by name, and what becomes of those that wait.
class CallGateTest : public ::testing::Test {
 protected:
  void Start(const Limits& limits) {
    const ProviderLimitSettings settings = limits;
    ASSERT_TRUE(CallGate::Validate(settings).ok()) << CallGate::Validate(settings);
    gate_ = std::make_unique<CallGate>(settings,
                                       [this](MonotonicTime when) { wakes_.push_back(when); });
  }
  MonotonicTime now() const { return clock_.Now(); }

  struct Call {
    const char* method = kHello;
    Priority priority = Priority::kNormal;
    absl::Duration timeout = absl::InfiniteDuration();
    std::string caller = {};
  };
  // "run", "wait", or the reason of a refusal.
  std::string Arrive(const std::string& name, const Call& call) {
    CallGate::Method& method = *gate_->Of(call.method);
    const CallGate::Arrival arrival = {
        .priority = call.priority, .caller = call.caller, .deadline = now() + call.timeout};
    CallGate::Decision decision = gate_->Arrive(method, arrival, now());
    last_ = decision.refusal;
    if (decision.verdict == Verdict::kRun) return "run";
    if (decision.verdict == Verdict::kRefuse) return std::string(decision.refusal.reason);
    gate_->Wait(method, arrival, std::make_shared<Waiting>(*this, name, method), now());
    return "wait";
  }
  std::string Arrive() { return Arrive("", {}); }
  void Leave(const char* method = kHello) { gate_->Leave(*gate_->Of(method), {}, now()); }

  class Waiting final : public CallGate::Waiter {
   public:
    Waiting(CallGateTest& test, std::string name, CallGate::Method& method)
        : test_(test), name_(std::move(name)), method_(method) {}
    void OnTurn() override {
      test_.told_.push_back(name_ + " runs");
      if (test_.end_at_once_) test_.gate_->Leave(method_, {}, test_.now());
    }
    void OnRefused(const CallGate::Refusal& refusal) override {
      test_.told_.push_back(name_ + " " + std::string(refusal.reason));
    }

   private:
    CallGateTest& test_;
    const std::string name_;
    CallGate::Method& method_;
  };

  SimulatedClock clock_;
  std::vector<MonotonicTime> wakes_;
  std::vector<std::string> told_;
  bool end_at_once_ = false;
  CallGate::Refusal last_;
  std::unique_ptr<CallGate> gate_;
};

TEST_F(CallGateTest, WithoutLimitsThereIsNothingToPass) {
  Start({});
  EXPECT_EQ(gate_->Of(kHello), nullptr);
}

TEST_F(CallGateTest, AMethodWithoutALimitOfItsOwnOrAboveItPassesNothing) {
  Start({.max_concurrent = {{kDelay, Calls(1)}}});
  EXPECT_EQ(gate_->Of(kHello), nullptr);
  EXPECT_NE(gate_->Of(kDelay), nullptr);
}

TEST_F(CallGateTest, RefusesWhatIsBeyondTheLimitAndSaysWhenToComeBack) {
  Start({.max_concurrent = {{kHello, Calls(2)}}, .pushback = absl::Milliseconds(40)});
  EXPECT_EQ(Arrive(), "run");
  EXPECT_EQ(Arrive(), "run");
  EXPECT_EQ(Arrive(), "OVERLOADED");
  EXPECT_EQ(last_.code, absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(last_.retry_after, absl::Milliseconds(20));
  EXPECT_EQ(last_.spread, absl::Milliseconds(40));
  EXPECT_THAT(last_.message, HasSubstr("demo.HelloService/Hello"));
  Leave();
  EXPECT_EQ(Arrive(), "run");
}

TEST_F(CallGateTest, EachOfTheThreeScopesHolds) {
  Start({.max_concurrent = {{kAllCalls, Calls(3)},
                            {"demo.HelloService", Calls(2)},
                            {kDelay, Calls(1)},
                            {"acme.Shop/Buy", Calls(9)}}});
  EXPECT_EQ(Arrive("", {.method = kDelay}), "run");
  EXPECT_EQ(Arrive("", {.method = kDelay}), "OVERLOADED");
  EXPECT_EQ(Arrive(), "run");
  EXPECT_EQ(Arrive(), "OVERLOADED") << "two of the service";
  EXPECT_EQ(Arrive("", {.method = "acme.Shop/Buy"}), "run");
  EXPECT_EQ(Arrive("", {.method = "acme.Shop/Buy"}), "OVERLOADED") << "three in all";
  // What a refusal had taken under narrower limits is given back.
  std::vector<int> under_way;
  for (const auto& state : gate_->States()) under_way.push_back(state.under_way);
  EXPECT_THAT(under_way, ElementsAre(/*acme.Shop/Buy*/ 1, /*all*/ 3, /*service*/ 2, /*Delay*/ 1));
}

TEST_F(CallGateTest, RatesHoldForScopesAndForCallers) {
  Start({.rate = {{kDelay, 1}, {"demo.HelloService", 3}}, .caller_rate = 2});
  EXPECT_EQ(Arrive("", {.method = kDelay, .caller = "a"}), "run");
  EXPECT_EQ(Arrive("", {.method = kDelay, .caller = "a"}), "RATE_LIMITED");
  EXPECT_THAT(last_.message, HasSubstr(kDelay));
  EXPECT_GT(last_.retry_after, absl::Milliseconds(900));
  // What that one had taken of its caller's was given back.
  EXPECT_EQ(Arrive("", {.caller = "a"}), "run");
  EXPECT_EQ(Arrive("", {.caller = "a"}), "RATE_LIMITED") << "two of this caller";
  EXPECT_EQ(Arrive("", {.caller = "b"}), "run");
  EXPECT_EQ(Arrive("", {.caller = "b"}), "RATE_LIMITED") << "three of the service";
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(Arrive("", {.caller = "b"}), "run");
}

TEST_F(CallGateTest, ACallThatFindsNoPlaceDoesNotCountForTheRate) {
  Start({.max_concurrent = {{kAllCalls, Calls(1)}}, .rate = {{kAllCalls, 2}}});
  EXPECT_EQ(Arrive(), "run");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Arrive(), "OVERLOADED");
  Leave();
  EXPECT_EQ(Arrive(), "run");
  Leave();
  EXPECT_EQ(Arrive(), "RATE_LIMITED");
}

TEST_F(CallGateTest, AnExpiredCallIsNotStarted) {
  Start({.max_concurrent = {{kAllCalls, Calls(1)}}});
  EXPECT_EQ(Arrive("", {.timeout = absl::ZeroDuration()}), "DEADLINE");
  EXPECT_EQ(last_.code, absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Arrive(), "run");
}

TEST_F(CallGateTest, LowerClassesAreRefusedFirst) {
  Start({.max_concurrent = {{kAllCalls, Calls(10)}}, .normal_share = 90, .sheddable_share = 50});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Arrive("", {.priority = Priority::kSheddable}), "run");
  EXPECT_EQ(Arrive("", {.priority = Priority::kSheddable}), "OVERLOADED");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Arrive(), "run");
  EXPECT_EQ(Arrive(), "OVERLOADED");
  EXPECT_EQ(Arrive("", {.priority = Priority::kCritical}), "run");
  EXPECT_EQ(Arrive("", {.priority = Priority::kCritical}), "OVERLOADED");
}

class WaitingTest : public CallGateTest {
 protected:
  static Limits OneAtATime(int max_waiting) {
    return {.max_concurrent = {{kAllCalls, Calls(1)}},
            .max_waiting = max_waiting,
            .max_wait = absl::Milliseconds(100)};
  }
};

TEST_F(WaitingTest, TheMoreImportantRunFirstAndTheRestInTheOrderOfComing) {
  Start(OneAtATime(10));
  ASSERT_EQ(Arrive(), "run");
  EXPECT_EQ(Arrive("s", {.priority = Priority::kSheddable}), "wait");
  EXPECT_EQ(Arrive("n1", {.method = kDelay}), "wait");
  EXPECT_EQ(Arrive("n2", {}), "wait");
  EXPECT_EQ(Arrive("c", {.priority = Priority::kCritical}), "wait");
  for (int i = 0; i < 4; ++i) Leave();
  EXPECT_THAT(told_, ElementsAre("c runs", "n1 runs", "n2 runs", "s runs"));
  EXPECT_EQ(gate_->waiting(), 0);
}

TEST_F(WaitingTest, AFullLineTurnsAwayTheLeastImportant) {
  Start(OneAtATime(2));
  ASSERT_EQ(Arrive(), "run");
  Arrive("s1", {.priority = Priority::kSheddable});
  Arrive("s2", {.priority = Priority::kSheddable});
  Arrive("s3", {.priority = Priority::kSheddable});
  EXPECT_THAT(told_, ElementsAre("s3 OVERLOADED")) << "no less important one to turn away";
  Arrive("n", {});
  Arrive("c", {.priority = Priority::kCritical});
  Arrive("n2", {});
  EXPECT_THAT(told_,
              ElementsAre("s3 OVERLOADED", "s2 OVERLOADED", "s1 OVERLOADED", "n2 OVERLOADED"));
  Leave();
  Leave();
  EXPECT_THAT(std::vector<std::string>(told_.begin() + 4, told_.end()),
              ElementsAre("c runs", "n runs"));
}

TEST_F(WaitingTest, AWaitIsBoundedByMaxWaitAndByTheDeadline) {
  Start(OneAtATime(10));
  ASSERT_EQ(Arrive(), "run");
  const MonotonicTime came = now();
  Arrive("patient", {});
  Arrive("hasty", {.timeout = absl::Milliseconds(30)});
  // A timer was asked for at the earliest end of a wait.
  EXPECT_EQ(wakes_.back(), came + absl::Milliseconds(30));
  clock_.Set(wakes_.back());
  gate_->Expire(now());
  EXPECT_THAT(told_, ElementsAre("hasty DEADLINE"));
  EXPECT_EQ(wakes_.back(), came + absl::Milliseconds(100));
  clock_.Set(wakes_.back());
  gate_->Expire(now());
  EXPECT_THAT(told_, ElementsAre("hasty DEADLINE", "patient OVERLOADED"));
  Leave();
  EXPECT_THAT(told_, ElementsAre("hasty DEADLINE", "patient OVERLOADED"));
  EXPECT_EQ(Arrive(), "run");
}

TEST_F(WaitingTest, OneWhoseWaitIsOverIsNotStartedThoughNoTimerFired) {
  Start(OneAtATime(10));
  ASSERT_EQ(Arrive(), "run");
  Arrive("late", {.timeout = absl::Milliseconds(30)});
  Arrive("good", {});
  clock_.Advance(absl::Milliseconds(50));
  Leave();
  EXPECT_THAT(told_, ElementsAre("late DEADLINE", "good runs"));
}

TEST_F(WaitingTest, AMethodThatIsFullDoesNotHoldUpAnother) {
  Start({.max_concurrent = {{kDelay, Calls(1)}, {kHello, Calls(1)}}, .max_waiting = 10});
  ASSERT_EQ(Arrive("", {.method = kDelay}), "run");
  EXPECT_EQ(Arrive("d", {.method = kDelay}), "wait");
  EXPECT_EQ(Arrive(), "run");
  EXPECT_EQ(Arrive("h", {}), "wait");
  Leave(kHello);
  EXPECT_THAT(told_, ElementsAre("h runs"));
}

// However many wait, each that ends at once makes room for the next without the stack growing.
TEST_F(WaitingTest, AnyNumberOfWaitersThatEndAtOnceAreServedInOneGo) {
  constexpr int kWaiters = 50'000;
  Start(OneAtATime(kWaiters));
  ASSERT_EQ(Arrive(), "run");
  for (int i = 0; i < kWaiters; ++i) Arrive("w", {});
  end_at_once_ = true;
  Leave();
  EXPECT_EQ(told_.size(), kWaiters);
  EXPECT_EQ(gate_->States()[0].under_way, 0);
}

TEST_F(CallGateTest, AutomaticLimitsFollowTheLatency) {
  Start({.max_concurrent = {{kHello, ConcurrencyLimit{.automatic = true}}},
         .gradient = {.initial = 40, .min = 5, .remeasure = absl::Hours(1)}});
  CallGate::Method& method = *gate_->Of(kHello);
  EXPECT_EQ(gate_->States()[0].limit, 40);
  EXPECT_TRUE(gate_->States()[0].automatic);
  const auto run = [&](absl::Duration latency, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      int running = 0;
      while (Arrive() == "run") ++running;
      clock_.Advance(latency);
      while (running-- > 0) gate_->Leave(method, latency, now());
    }
  };
  run(absl::Milliseconds(10), 200);
  const int before = gate_->States()[0].limit;
  EXPECT_GE(before, 40);
  run(absl::Milliseconds(500), 20);
  EXPECT_LT(gate_->States()[0].limit, before / 2);
  EXPECT_GE(gate_->States()[0].limit, 5);
}

TEST_F(CallGateTest, TellsWhichNamesNoMethodHas) {
  Start({.max_concurrent = {{kAllCalls, Calls(9)}, {kHello, Calls(1)}, {"demo.Helo", Calls(1)}},
         .rate = {{"demo.HelloService", 5}, {kDelay, 5}}});
  gate_->Of(kHello);
  EXPECT_THAT(gate_->UnusedNames(), ElementsAre("demo.HelloService/Delay", "demo.Helo"));
  gate_->Of(kDelay);
  EXPECT_THAT(gate_->UnusedNames(), ElementsAre("demo.Helo"));
}

TEST_F(CallGateTest, SettingsThatCannotBeInForceAreRefused) {
  const auto message = [](const Limits& settings) {
    return std::string(CallGate::Validate(settings).message());
  };
  EXPECT_THAT(message({.max_concurrent = {{kAllCalls, Calls(0)}}}), HasSubstr("maxConcurrent"));
  EXPECT_THAT(message({.rate = {{kAllCalls, 0}}}), HasSubstr("rate of all"));
  EXPECT_THAT(message({.caller_rate = -1}), HasSubstr("callerRate"));
  EXPECT_THAT(message({.max_wait = absl::ZeroDuration()}), HasSubstr("maxWait"));
  EXPECT_THAT(message({.normal_share = 50, .sheddable_share = 60}), HasSubstr("sheddableShare"));
  EXPECT_THAT(message({.gradient = {.min = 5, .max = 4}}), HasSubstr("auto.max"));
  EXPECT_THAT(message({}), IsEmpty());
}

// Waiters on other threads: none is lost, and never do more run than may.
TEST(CallGateRaceTest, EveryCallEndsAndNeverMoreRunThanMay) {
  constexpr int kPlaces = 3;
  CallGate gate(Limits{.max_concurrent = {{kAllCalls, Calls(kPlaces)}},
                       .max_waiting = 1'000'000,
                       .max_wait = absl::Hours(1)});
  CallGate::Method& method = *gate.Of(kHello);
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> ended{0};
  const MonotonicTime now = SimulatedClock().Now();
  const auto run = [&] {
    const int here = ++running;
    int seen = most.load();
    while (here > seen && !most.compare_exchange_weak(seen, here)) {
    }
    --running;
    ++ended;
    gate.Leave(method, absl::Milliseconds(1), now);
  };
  struct Waiting final : CallGate::Waiter {
    explicit Waiting(std::function<void()> run) : run(std::move(run)) {}
    void OnTurn() override { run(); }
    void OnRefused(const CallGate::Refusal&) override { ADD_FAILURE(); }
    std::function<void()> run;
  };
  std::vector<std::thread> threads;
  constexpr int kThreads = 4;
  constexpr int kCalls = 3'000;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        CallGate::Arrival arrival;
        arrival.priority = static_cast<Priority>((t + i) % 3);
        if (gate.Arrive(method, arrival, now).verdict == Verdict::kRun) {
          run();
        } else {
          gate.Wait(method, arrival, std::make_shared<Waiting>(run), now);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, kThreads * kCalls);
  EXPECT_LE(most, kPlaces);
  EXPECT_EQ(gate.waiting(), 0);
  EXPECT_EQ(gate.States()[0].under_way, 0);
}

}  // namespace
}  // namespace marpc
