#include "marpc/outlier/outlier_detector.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OutlierDetectorTest : public ::testing::Test {
 protected:
  OutlierDetectorTest() {
    settings_.enabled = true;
    settings_.eject_on.success_rate = false;
    settings_.max_ejection_percent = 100;
  }
  void Start(std::vector<std::string> names) {
    OutlierListeners listeners;
    listeners.on_event = [this](const EjectionEvent& event) { told_.push_back(event); };
    listeners.on_back = [this](LiveInstance& instance, MonotonicTime now) {
      back_.push_back(absl::StrCat(instance.endpoint().host(), " ", Seconds(now)));
    };
    detector_ = std::make_unique<OutlierDetector>(settings_, clock_.Now(), std::move(listeners));
    List(std::move(names));
  }
  void List(std::vector<std::string> names) {
    std::vector<std::shared_ptr<LiveInstance>> list;
    for (const std::string& name : names) {
      std::shared_ptr<LiveInstance>& live = live_[name];
      if (live == nullptr) {
        live = std::make_shared<LiveInstance>(Endpoint::Parse(absl::StrCat(name, ":1")).value());
      }
      list.push_back(live);
    }
    ejections_ = detector_->ForInstances(list, clock_.Now());
    detector_->Announce();
  }
  void Calls(const std::string& name, int count, bool failed,
             std::optional<absl::Duration> latency = std::nullopt) {
    for (int i = 0; i < count; ++i) {
      const MonotonicTime now = clock_.Now();
      ejections_->CatchUp(now, random_);
      ejections_->OnAttempt(live_.at(name).get(), {now, failed, latency}, now, random_);
    }
  }
  std::vector<std::string> Ejected() {
    std::vector<std::string> names;
    for (const auto& one : Snapshot().instances) {
      if (one.ejection.ejected) names.push_back(one.name.substr(0, one.name.find(':')));
    }
    return names;
  }
  OutlierSnapshot Snapshot() { return detector_->GetSnapshot(clock_.Now(), random_); }
  int Seconds(MonotonicTime at) { return static_cast<int>(absl::ToDoubleSeconds(at - start_)); }

  OutlierSettings settings_;
  SimulatedClock clock_;
  const MonotonicTime start_ = clock_.Now();
  SeededRandom random_{5};
  std::map<std::string, std::shared_ptr<LiveInstance>> live_;
  std::unique_ptr<OutlierDetector> detector_;
  std::shared_ptr<const Ejections> ejections_;
  std::vector<EjectionEvent> told_;
  std::vector<std::string> back_;
};

TEST_F(OutlierDetectorTest, ConsecutiveErrorsEjectAtOnceAndForTheTime) {
  settings_.consecutive_errors.threshold = 3;
  Start({"a", "b"});
  Calls("a", 2, true);
  Calls("a", 1, false);
  Calls("a", 2, true);
  EXPECT_THAT(Ejected(), IsEmpty()) << "an answer between them";
  Calls("a", 1, true);
  EXPECT_THAT(Ejected(), ElementsAre("a"));
  EXPECT_FALSE(ejections_->MayTake(live_["a"].get(), clock_.Now()));
  EXPECT_TRUE(ejections_->MayTake(live_["b"].get(), clock_.Now()));
  const Ejection ejection = Snapshot().instances[0].ejection;
  EXPECT_EQ(ejection.reason, EjectionReason::kConsecutiveErrors);
  EXPECT_EQ(Seconds(ejection.until), 30);
  clock_.Advance(absl::Seconds(30));
  EXPECT_THAT(Ejected(), ElementsAre("a")) << "30 s is not after 30 s";
  clock_.Advance(absl::Seconds(10));
  EXPECT_THAT(Ejected(), IsEmpty());
  EXPECT_FALSE(ejections_->AnyEjected());
  EXPECT_THAT(back_, ElementsAre("a 40"));
}

// envoyproxy/envoy: a counter that each interval clears never ejects at low traffic.
TEST_F(OutlierDetectorTest, ConsecutiveErrorsAreCountedAcrossIntervals) {
  settings_.consecutive_errors.threshold = 3;
  settings_.interval = absl::Seconds(1);
  Start({"a", "b"});
  for (int i = 0; i < 2; ++i) {
    Calls("a", 1, true);
    clock_.Advance(absl::Milliseconds(1500));
  }
  EXPECT_THAT(Ejected(), IsEmpty());
  Calls("a", 1, true);
  EXPECT_THAT(Ejected(), ElementsAre("a"));
}

TEST_F(OutlierDetectorTest, LooksThatAreOverdueComeBeforeTheErrorThatFollowsThem) {
  settings_.consecutive_errors.threshold = 1;
  settings_.interval = absl::Seconds(1);
  settings_.base_ejection_time = absl::Seconds(1);
  Start({"a", "b"});
  for (int i = 0; i < 3; ++i) {
    Calls("a", 1, true);
    while (!Ejected().empty()) clock_.Advance(absl::Seconds(1));
  }
  EXPECT_GT(Snapshot().instances[0].ejection.multiplier, 1);
  // A call that hangs for long, while nobody else calls, and fails.
  const MonotonicTime began = clock_.Now();
  clock_.Advance(absl::Minutes(1));
  ejections_->OnAttempt(live_.at("a").get(), {began, true, std::nullopt}, clock_.Now(), random_);
  EXPECT_THAT(Ejected(), ElementsAre("a"));
  EXPECT_EQ(Snapshot().instances[0].ejection.multiplier, 1);
}

TEST_F(OutlierDetectorTest, AnInstanceBeginsItsReturnBeforeAListenerIsTold) {
  settings_.consecutive_errors.threshold = 1;
  std::vector<std::string> order;
  OutlierListeners listeners;
  listeners.on_event = [&](const EjectionEvent& event) {
    order.push_back(event.ejected ? "ejected" : "told");
  };
  listeners.on_back = [&](LiveInstance&, MonotonicTime) {
    EXPECT_TRUE(ejections_->AnyEjected()) << "it is not yet in use";
    order.push_back("back");
  };
  detector_ = std::make_unique<OutlierDetector>(settings_, clock_.Now(), std::move(listeners));
  List({"a", "b"});
  Calls("a", 1, true);
  clock_.Advance(absl::Minutes(1));
  EXPECT_THAT(Ejected(), IsEmpty());
  EXPECT_THAT(order, ElementsAre("ejected", "back", "told"));
}

TEST_F(OutlierDetectorTest, AnotherLifeIsJudgedByItsOwnErrorRate) {
  settings_.eject_on = {false, true, false, false, false};
  settings_.error_rate.request_volume = 2;
  Start({"a", "b"});
  Calls("a", 2, true);
  EXPECT_THAT(Ejected(), ElementsAre("a"));
  detector_->OnNewLives({live_["a"].get()}, clock_.Now());
  EXPECT_THAT(Ejected(), IsEmpty());
  clock_.Advance(absl::Seconds(1));
  Calls("a", 2, true);
  EXPECT_THAT(Ejected(), ElementsAre("a"));
}

TEST_F(OutlierDetectorTest, AnErrorRateEjectsAtTheErrorThatReachesIt) {
  settings_.eject_on = {false, true, false, false, false};
  settings_.error_rate.threshold = 50;
  settings_.error_rate.request_volume = 10;
  Start({"a", "b"});
  Calls("a", 4, true);
  Calls("a", 5, false);
  EXPECT_THAT(Ejected(), IsEmpty()) << "9 calls";
  Calls("a", 1, true);
  EXPECT_THAT(Ejected(), ElementsAre("a"));
  EXPECT_EQ(Snapshot().instances[0].ejection.reason, EjectionReason::kErrorRate);
}

TEST_F(OutlierDetectorTest, AnErrorRateIsThatOfTheInterval) {
  settings_.eject_on = {false, true, false, false, false};
  settings_.error_rate.request_volume = 10;
  Start({"a", "b"});
  Calls("a", 9, true);
  clock_.Advance(absl::Seconds(10));
  Calls("a", 9, true);
  EXPECT_THAT(Ejected(), IsEmpty());
}

TEST_F(OutlierDetectorTest, AnErrorRateThatWasSparedIsDrawnForOnceAnInterval) {
  settings_.eject_on = {false, true, false, false, false};
  settings_.error_rate.request_volume = 1;
  settings_.error_rate.enforcement_percent = 0;
  Start({"a", "b"});
  Calls("a", 20, true);
  EXPECT_EQ(Snapshot().counters.spared_by_chance, 1u);
  clock_.Advance(absl::Seconds(10));
  Calls("a", 20, true);
  EXPECT_EQ(Snapshot().counters.spared_by_chance, 2u);
}

TEST_F(OutlierDetectorTest, ALatencyIsJudgedAtTheEndOfTheInterval) {
  settings_.eject_on = {false, false, false, false, true};
  Start({"a", "b", "c"});
  Calls("a", 50, false, absl::Milliseconds(500));
  for (const char* name : {"b", "c"}) Calls(name, 50, false, absl::Milliseconds(20));
  clock_.Advance(absl::Milliseconds(9999));
  EXPECT_THAT(Ejected(), IsEmpty());
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(Ejected(), ElementsAre("a"));
}

TEST_F(OutlierDetectorTest, AnIntervalThatNobodyCalledInIsMadeUpForByTheNextCall) {
  settings_.eject_on = {false, false, false, true, false};
  settings_.failure_percentage.minimum_hosts = 2;
  Start({"a", "b"});
  Calls("a", 100, true);
  Calls("b", 100, false);
  clock_.Advance(absl::Hours(1));
  Calls("b", 1, false);
  EXPECT_FALSE(ejections_->AnyEjected()) << "ejected at 10 s, and that was over at 50 s";
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(Seconds(told_[0].at), 10);
  EXPECT_EQ(Seconds(told_[1].at), 50) << "the look that ended it";
  EXPECT_THAT(back_, ElementsAre("a 3600")) << "a slow start begins when calls do";
  EXPECT_EQ(Snapshot().instances[0].ejection.multiplier, 0);
  EXPECT_EQ(Seconds(Snapshot().next_look), 3610) << "the look-outs keep their beat";
}

TEST_F(OutlierDetectorTest, CallsFromBeforeTheEjectionDoNotCountAfterIt) {
  settings_.consecutive_errors.threshold = 1;
  Start({"a", "b"});
  const MonotonicTime long_ago = clock_.Now();
  Calls("a", 1, true);
  clock_.Advance(absl::Seconds(40));
  ASSERT_THAT(Ejected(), IsEmpty());
  ejections_->OnAttempt(live_["a"].get(), {long_ago, true, {}}, clock_.Now(), random_);
  EXPECT_THAT(Ejected(), IsEmpty());
  Calls("a", 1, true);
  EXPECT_THAT(Ejected(), ElementsAre("a"));
  EXPECT_EQ(Snapshot().instances[0].ejection.multiplier, 2);
}

TEST_F(OutlierDetectorTest, WhatLeavesIsForgottenAndComesBackNew) {
  settings_.consecutive_errors.threshold = 1;
  Start({"a", "b", "c"});
  Calls("a", 1, true);
  List({"b", "c"});
  EXPECT_FALSE(ejections_->AnyEjected());
  const auto gone = live_["a"];
  Calls("a", 5, true);  // late answers
  EXPECT_FALSE(ejections_->AnyEjected());
  live_.erase("a");
  List({"a", "b", "c"});
  EXPECT_THAT(Ejected(), IsEmpty());
  EXPECT_EQ(Snapshot().instances[0].ejection.multiplier, 0);
}

TEST_F(OutlierDetectorTest, WhatStaysIsKnownFromListToList) {
  settings_.consecutive_errors.threshold = 2;
  Start({"a", "b"});
  Calls("a", 1, true);
  List({"c", "a", "b"});
  Calls("a", 1, true);
  EXPECT_THAT(Ejected(), ElementsAre("a"));
  List({"b", "a"});
  EXPECT_THAT(Ejected(), ElementsAre("a"));
}

TEST_F(OutlierDetectorTest, AnotherLifeOfTheProcessIsLetIn) {
  settings_.consecutive_errors.threshold = 1;
  Start({"a", "b"});
  Calls("a", 1, true);
  detector_->OnNewLives({live_["a"].get()}, clock_.Now());
  detector_->Announce();
  EXPECT_THAT(Ejected(), IsEmpty());
  EXPECT_EQ(Snapshot().instances[0].ejection.multiplier, 0);
  EXPECT_THAT(back_, ElementsAre("a 0"));
}

TEST_F(OutlierDetectorTest, TheLastOneIsLetInAndNeverEjected) {
  settings_.consecutive_errors.threshold = 1;
  Start({"a", "b"});
  Calls("a", 1, true);
  List({"a"});
  EXPECT_THAT(Ejected(), IsEmpty());
  Calls("a", 9, true);
  EXPECT_THAT(Ejected(), IsEmpty());
  EXPECT_GT(Snapshot().counters.spared_by_limit, 0u);
}

TEST_F(OutlierDetectorTest, PanicsBelowTheThresholdOfThoseLeft) {
  settings_.consecutive_errors.threshold = 1;
  settings_.panic_threshold = 50;
  Start({"a", "b", "c", "d"});
  Calls("a", 1, true);
  Calls("b", 1, true);
  EXPECT_FALSE(ejections_->InPanic()) << "half is not below half";
  Calls("c", 1, true);
  EXPECT_TRUE(ejections_->InPanic());
  EXPECT_TRUE(Snapshot().panic);
  List({"d", "e", "f", "g"});
  EXPECT_FALSE(ejections_->InPanic());
}

TEST_F(OutlierDetectorTest, TellsAndKeepsItsEventsInOrder) {
  settings_.consecutive_errors.threshold = 1;
  Start({"a", "b"});
  for (int i = 0; i < 120; ++i) {
    Calls("a", 1, true);
    clock_.Advance(absl::Hours(1));
    Calls("b", 1, false);
  }
  ASSERT_EQ(told_.size(), 240u);
  EXPECT_TRUE(told_[0].ejected);
  EXPECT_EQ(told_[0].instance, "a:1");
  EXPECT_EQ(told_[0].reason, EjectionReason::kConsecutiveErrors);
  EXPECT_FALSE(told_[1].ejected);
  const OutlierSnapshot snapshot = Snapshot();
  EXPECT_EQ(snapshot.events.size(), 100u);
  EXPECT_EQ(snapshot.events.back().at, told_.back().at);
  EXPECT_EQ(snapshot.counters.ejections[static_cast<int>(EjectionReason::kConsecutiveErrors)],
            120u);
}

TEST_F(OutlierDetectorTest, ShowsTheCallsOfTheIntervalSoFar) {
  Start({"a", "b"});
  Calls("a", 3, true);
  Calls("a", 2, false);
  Calls("a", 1, true);
  const OutlierSnapshot snapshot = Snapshot();
  EXPECT_EQ(snapshot.instances[0].calls.calls, 6);
  EXPECT_EQ(snapshot.instances[0].calls.failures, 4);
  EXPECT_EQ(snapshot.instances[0].errors_in_row, 1);
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(Snapshot().instances[0].calls.calls, 0);
}

// Many threads, the clock running: no call is counted twice, and what is counted as ejected is.
TEST_F(OutlierDetectorTest, ManyThreadsCountAndLookAtOnce) {
  settings_.consecutive_errors.threshold = 5;
  settings_.interval = absl::Milliseconds(100);
  settings_.base_ejection_time = absl::Milliseconds(300);
  std::atomic<int> balance{0};
  OutlierListeners listeners;
  listeners.on_event = [&](const EjectionEvent& event) {
    // Of one that leaves the list, no end is told.
    if (event.instance != "e:1") balance += event.ejected ? 1 : -1;
  };
  detector_ = std::make_unique<OutlierDetector>(settings_, clock_.Now(), std::move(listeners));
  List({"a", "b", "c", "d", "e"});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(t);
      for (int i = 0; i < 4000; ++i) {
        const MonotonicTime now = clock_.Now();
        ejections_->CatchUp(now, random);
        const std::string name(1, static_cast<char>('a' + random.Below(5)));
        const bool failed = random.Below(10) < (name == "a" ? 9 : 4);
        ejections_->OnAttempt(live_.at(name).get(), {now, failed, absl::Milliseconds(1)}, now,
                              random);
        clock_.Advance(absl::Microseconds(200));
      }
    });
  }
  // Meanwhile one starts anew, and one comes and goes.
  for (int i = 0; i < 200; ++i) {
    std::vector<std::shared_ptr<LiveInstance>> list;
    for (const auto& [name, live] : live_) {
      if (name != "e" || i % 2 == 1) list.push_back(live);
    }
    detector_->ForInstances(list, clock_.Now());
    detector_->OnNewLives({live_.at("b").get()}, clock_.Now());
    detector_->Announce();
  }
  for (std::thread& thread : threads) thread.join();
  const OutlierSnapshot snapshot = Snapshot();
  int ejected = 0;
  int ejected_but_e = 0;
  for (const auto& one : snapshot.instances) {
    if (!one.ejection.ejected) continue;
    ++ejected;
    if (one.name != "e:1") ++ejected_but_e;
  }
  EXPECT_EQ(snapshot.ejected, ejected);
  EXPECT_EQ(balance.load(), ejected_but_e);
  EXPECT_GT(snapshot.counters.ejections[static_cast<int>(EjectionReason::kConsecutiveErrors)], 1u);
}

}  // namespace
}  // namespace marpc
