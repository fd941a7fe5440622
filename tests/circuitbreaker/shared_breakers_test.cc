#include "marpc/circuitbreaker/shared_breakers.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/clock.h"
#include "marpc/circuitbreaker/breaker_votes.h"
#include "marpc/circuitbreaker/circuit_breaker.h"

namespace marpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

constexpr char kS[] = "demo.S";
constexpr char kOfMethod[] = "demo.S/M";
constexpr char kOfInstance[] = "demo.S@10.0.0.1:80";

class SharedBreakersTest : public ::testing::Test {
 protected:
  SharedBreakersTest() { Use({.enabled = true, .quorum = 50, .min_consumers = 2}); }
  void Use(const SharedBreakerSettings& settings) {
    shared_ = std::make_unique<SharedBreakers>(settings, SharedBreakers::Self{kS, "me"});
    votes_ = std::make_unique<BreakerVotes>(settings.write_interval, clock_.Now());
  }
  void Change(const std::string& breaker, BreakerState from, BreakerState to, BreakerReason reason,
              absl::Duration wait = absl::Seconds(5)) {
    votes_->OnTransition(breaker, {from, to, clock_.Now(), 0, reason, {}, wait});
  }
  void Open(const std::string& breaker, BreakerReason reason = BreakerReason::kFaultLimit) {
    Change(breaker, BreakerState::kClosed, BreakerState::kOpen, reason);
  }
  // What is written after a wait that is long enough.
  std::optional<std::vector<std::string>> Written() {
    clock_.Advance(absl::Seconds(1));
    return votes_->Take(clock_.Now());
  }
  // The breakers to open.
  std::vector<std::string> Verdicts(const SharedBreakers::Consumers& consumers) {
    std::vector<std::string> breakers;
    for (const auto& verdict : shared_->OnConsumers(consumers, votes_->List(), clock_.Now())) {
      breakers.push_back(verdict.breaker);
    }
    return breakers;
  }

  SimulatedClock clock_;
  std::unique_ptr<SharedBreakers> shared_;
  std::unique_ptr<BreakerVotes> votes_;
};

// --- votes of one's own

TEST_F(SharedBreakersTest, OwnEvidenceIsAVoteAndTheWordOfOthersIsNone) {
  for (const BreakerReason reason :
       {BreakerReason::kFaultLimit, BreakerReason::kConsecutiveFailures,
        BreakerReason::kFailureRate, BreakerReason::kSlowCallRate, BreakerReason::kFailedCalls}) {
    Use({.enabled = true});
    Open(kS, reason);
    EXPECT_THAT(Written(), Optional(ElementsAre(kS))) << BreakerReasonName(reason);
  }
  for (const BreakerReason reason : {BreakerReason::kShared, BreakerReason::kForced}) {
    Use({.enabled = true});
    Open(kS, reason);
    EXPECT_EQ(Written(), std::nullopt) << BreakerReasonName(reason);
  }
}

TEST_F(SharedBreakersTest, ProbesThatFailAfterASharedOpeningAreOwnEvidence) {
  Open(kS, BreakerReason::kShared);
  Change(kS, BreakerState::kOpen, BreakerState::kHalfOpen, BreakerReason::kWaitOver);
  EXPECT_EQ(Written(), std::nullopt);
  // That nothing decided says nothing.
  Change(kS, BreakerState::kHalfOpen, BreakerState::kOpen, BreakerReason::kUndecided);
  Change(kS, BreakerState::kOpen, BreakerState::kHalfOpen, BreakerReason::kWaitOver);
  EXPECT_EQ(Written(), std::nullopt);
  Change(kS, BreakerState::kHalfOpen, BreakerState::kOpen, BreakerReason::kProbesFailed);
  EXPECT_THAT(Written(), Optional(ElementsAre(kS)));
}

TEST_F(SharedBreakersTest, AVoteStandsThroughProbesAndFallsWhenTheBreakerCloses) {
  Open(kS);
  ASSERT_THAT(Written(), Optional(ElementsAre(kS)));
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(absl::Seconds(5));
    Change(kS, BreakerState::kOpen, BreakerState::kHalfOpen, BreakerReason::kWaitOver);
    EXPECT_EQ(Written(), std::nullopt);
    Change(kS, BreakerState::kHalfOpen, BreakerState::kOpen, BreakerReason::kProbesFailed);
    EXPECT_EQ(Written(), std::nullopt);
  }
  Change(kS, BreakerState::kOpen, BreakerState::kHalfOpen, BreakerReason::kWaitOver);
  Change(kS, BreakerState::kHalfOpen, BreakerState::kClosed, BreakerReason::kProbesSucceeded);
  EXPECT_THAT(Written(), Optional(IsEmpty()));
  EXPECT_TRUE(votes_->next_write().is_infinite());
}

TEST_F(SharedBreakersTest, AnOperatorsWordEndsTheVote) {
  for (const BreakerState state :
       {BreakerState::kForcedOpen, BreakerState::kDisabled, BreakerState::kMetricsOnly}) {
    Use({.enabled = true});
    Open(kS);
    ASSERT_THAT(Written(), Optional(SizeIs(1)));
    Change(kS, BreakerState::kOpen, state, BreakerReason::kForced);
    EXPECT_THAT(Written(), Optional(IsEmpty())) << BreakerStateName(state);
  }
}

TEST_F(SharedBreakersTest, AVoteThatNobodyRenewsEnds) {
  Open(kS);  // with a wait of 5s
  ASSERT_THAT(Written(), Optional(SizeIs(1)));
  EXPECT_EQ(votes_->next_write() - clock_.Now(), absl::Seconds(19));
  clock_.Advance(absl::Seconds(19) - absl::Nanoseconds(1));
  EXPECT_EQ(votes_->Take(clock_.Now()), std::nullopt);
  clock_.Advance(absl::Nanoseconds(1));
  EXPECT_THAT(votes_->Take(clock_.Now()), Optional(IsEmpty()));
}

TEST_F(SharedBreakersTest, AProbeThatIsLateAndFailsFindsItsVoteStillThere) {
  Open(kS);  // with a wait of 5s, so the vote ends after 20s
  ASSERT_THAT(Written(), Optional(SizeIs(1)));
  clock_.Advance(absl::Seconds(18));
  Change(kS, BreakerState::kOpen, BreakerState::kHalfOpen, BreakerReason::kWaitOver,
         absl::ZeroDuration());
  clock_.Advance(absl::Seconds(14));
  EXPECT_EQ(votes_->Take(clock_.Now()), std::nullopt);
  EXPECT_EQ(votes_->next_write() - clock_.Now(), absl::Seconds(1));
  Change(kS, BreakerState::kHalfOpen, BreakerState::kOpen, BreakerReason::kProbesFailed);
  EXPECT_EQ(Written(), std::nullopt);
}

TEST_F(SharedBreakersTest, AProbeThatNeverEndsDoesNotKeepTheVote) {
  Open(kS);
  Change(kS, BreakerState::kOpen, BreakerState::kHalfOpen, BreakerReason::kWaitOver,
         absl::ZeroDuration());
  ASSERT_THAT(Written(), Optional(SizeIs(1)));
  clock_.Advance(absl::Seconds(20));
  EXPECT_THAT(Written(), Optional(IsEmpty()));
}

TEST_F(SharedBreakersTest, ARenewalMayEndEarlierThanTheVoteItRenews) {
  Change(kS, BreakerState::kClosed, BreakerState::kOpen, BreakerReason::kFaultLimit,
         absl::Minutes(1));
  ASSERT_THAT(Written(), Optional(SizeIs(1)));
  Change(kS, BreakerState::kOpen, BreakerState::kHalfOpen, BreakerReason::kForced);
  Change(kS, BreakerState::kHalfOpen, BreakerState::kOpen, BreakerReason::kProbesFailed);
  EXPECT_EQ(votes_->next_write() - clock_.Now(), absl::Seconds(20));
  clock_.Advance(absl::Seconds(20));
  EXPECT_THAT(votes_->Take(clock_.Now()), Optional(IsEmpty()));
}

TEST_F(SharedBreakersTest, AVoteEndsWithItsBreaker) {
  Open(kS);
  Open(kOfInstance);
  ASSERT_THAT(Written(), Optional(SizeIs(2)));
  votes_->Erase({kOfInstance, kOfMethod});
  EXPECT_THAT(Written(), Optional(ElementsAre(kS)));
  votes_->Erase({kOfInstance});
  EXPECT_EQ(Written(), std::nullopt);
}

// --- writing

TEST_F(SharedBreakersTest, WritesAreAnIntervalApartAndTakeAllTogether) {
  EXPECT_TRUE(votes_->next_write().is_infinite());
  Open(kS);
  // The entry itself was the first write.
  EXPECT_EQ(votes_->next_write() - clock_.Now(), absl::Seconds(1));
  EXPECT_EQ(votes_->Take(clock_.Now()), std::nullopt);
  Open(kOfMethod);
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(votes_->Take(clock_.Now()), Optional(ElementsAre(kS, kOfMethod)));
  EXPECT_EQ(votes_->Take(clock_.Now()), std::nullopt);
  Open(kOfInstance);
  clock_.Advance(absl::Milliseconds(999));
  EXPECT_EQ(votes_->Take(clock_.Now()), std::nullopt);
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(votes_->Take(clock_.Now()), Optional(ElementsAre(kS, kOfMethod, kOfInstance)));
}

TEST_F(SharedBreakersTest, WhatChangesAndChangesBackIsNotWritten) {
  Open(kS);
  ASSERT_THAT(Written(), Optional(SizeIs(1)));
  Open(kOfMethod);
  Change(kOfMethod, BreakerState::kOpen, BreakerState::kClosed, BreakerReason::kReset);
  EXPECT_EQ(Written(), std::nullopt);
}

TEST_F(SharedBreakersTest, AFlappingFleetOfInstancesWritesOnceAnInterval) {
  int writes = 0;
  for (int ms = 0; ms < 10'000; ++ms) {
    const std::string name = absl::StrCat("demo.S@10.0.0.1:", 1 + ms % 500);
    const bool opens = ms / 500 % 2 == 0;
    Change(name, opens ? BreakerState::kClosed : BreakerState::kOpen,
           opens ? BreakerState::kOpen : BreakerState::kClosed,
           opens ? BreakerReason::kFaultLimit : BreakerReason::kReset);
    clock_.Advance(absl::Milliseconds(1));
    if (votes_->Take(clock_.Now()).has_value()) ++writes;
  }
  EXPECT_LE(writes, 10);
  EXPECT_GE(writes, 5);
}

TEST_F(SharedBreakersTest, NoMoreThanFitIsWrittenTheOldestFirst) {
  for (int i = 0; i < 1500; ++i) {
    Open(absl::StrCat("demo.S@10.0.0.1:", 3000 - i));
  }
  const auto votes = Written();
  ASSERT_THAT(votes, Optional(SizeIs(BreakerVotes::kMaxVotes)));
  EXPECT_EQ(votes_->left_out(), 500u);
  EXPECT_THAT(*votes, ::testing::Contains("demo.S@10.0.0.1:3000"));
  EXPECT_THAT(*votes, ::testing::Not(::testing::Contains("demo.S@10.0.0.1:1501")));
  // One more that has no room changes nothing.
  Open("demo.S@10.0.0.1:1");
  EXPECT_EQ(Written(), std::nullopt);
}

TEST_F(SharedBreakersTest, NoMoreBytesThanFitAreWrittenTheOldestFirst) {
  const std::string padding(1000, 'x');
  for (int i = 0; i < 200; ++i) Open(absl::StrCat("demo.S/", padding, 900 - i));
  const auto votes = Written();
  ASSERT_TRUE(votes.has_value());
  size_t bytes = 0;
  for (const std::string& name : *votes) bytes += name.size();
  EXPECT_LE(bytes, BreakerVotes::kMaxBytes);
  EXPECT_GT(bytes, BreakerVotes::kMaxBytes - 2000);
  EXPECT_EQ(votes_->left_out(), 200 - votes->size());
  EXPECT_THAT(*votes, ::testing::Contains(absl::StrCat("demo.S/", padding, 900)));
}

TEST_F(SharedBreakersTest, AListThatCouldNotBeWrittenIsDueAgainAfterTheInterval) {
  Open(kS);
  ASSERT_THAT(Written(), Optional(ElementsAre(kS)));
  votes_->OnNotWritten();
  EXPECT_EQ(votes_->next_write() - clock_.Now(), absl::Seconds(1));
  EXPECT_THAT(Written(), Optional(ElementsAre(kS)));
  EXPECT_EQ(Written(), std::nullopt);
  // Nothing is a list, too.
  votes_->OnNotWritten();
  Change(kS, BreakerState::kOpen, BreakerState::kClosed, BreakerReason::kReset);
  EXPECT_THAT(Written(), Optional(IsEmpty()));
}

// --- votes of all

TEST_F(SharedBreakersTest, TheVoteThatReachesTheQuorumOpens) {
  EXPECT_THAT(Verdicts({{"a", {kS}}, {"b", {}}, {"c", {}}, {"d", {}}, {"e", {}}}), IsEmpty());
  EXPECT_THAT(Verdicts({{"a", {kS}}, {"b", {kS}}, {"c", {}}, {"d", {}}, {"e", {}}}), IsEmpty());
  const auto verdicts = shared_->OnConsumers(
      {{"a", {kS}}, {"b", {kS}}, {"c", {kS}}, {"d", {}}, {"e", {}}}, {}, clock_.Now());
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].breaker, kS);
  EXPECT_EQ(verdicts[0].votes, 3);
  EXPECT_EQ(verdicts[0].needed, 3);
  EXPECT_EQ(verdicts[0].consumers, 5);
}

TEST_F(SharedBreakersTest, VotesThatStandOpenNothingASecondTime) {
  const SharedBreakers::Consumers list = {{"a", {kS}}, {"b", {kS}}, {"c", {}}};
  EXPECT_THAT(Verdicts(list), ElementsAre(kS));
  clock_.Advance(absl::Hours(3));
  EXPECT_THAT(Verdicts(list), IsEmpty());
  // Nor does a vote for another breaker, or a consumer that comes.
  EXPECT_THAT(Verdicts({{"a", {kS, kOfMethod}}, {"b", {kS}}, {"c", {}}, {"d", {}}}), IsEmpty());
}

TEST_F(SharedBreakersTest, EachFurtherVoteIsNews) {
  EXPECT_THAT(Verdicts({{"a", {kS}}, {"b", {kS}}, {"c", {}}}), ElementsAre(kS));
  EXPECT_THAT(Verdicts({{"a", {kS}}, {"b", {kS}}, {"c", {kS}}}), ElementsAre(kS));
  EXPECT_THAT(Verdicts({{"a", {kS}}, {"b", {kS}}, {"c", {}}}), IsEmpty());
  EXPECT_THAT(Verdicts({{"a", {kS}}, {"b", {kS}}, {"c", {kS}}}), ElementsAre(kS));
}

TEST_F(SharedBreakersTest, AQuorumReachedBecauseConsumersLeftOpensNothing) {
  EXPECT_THAT(Verdicts({{"a", {kS}}, {"b", {kS}}, {"c", {}}, {"d", {}}, {"e", {}}, {"f", {}}}),
              IsEmpty());
  EXPECT_THAT(Verdicts({{"a", {kS}}, {"b", {kS}}, {"c", {}}}), IsEmpty());
  EXPECT_THAT(Verdicts({{"a", {kS}}, {"b", {kS}}, {"c", {kS}}}), ElementsAre(kS));
}

TEST_F(SharedBreakersTest, OneConsumerAloneIsNeverEnough) {
  EXPECT_THAT(Verdicts({{"a", {kS}}}), IsEmpty());
  Use({.enabled = true, .quorum = 1, .min_consumers = 2});
  EXPECT_THAT(Verdicts({{"a", {kS}}, {"b", {}}, {"c", {}}}), IsEmpty());
}

TEST_F(SharedBreakersTest, TheQuorumIsRoundedUp) {
  const auto needed = [&](int consumers, int quorum) {
    Use({.enabled = true, .quorum = quorum, .min_consumers = 2});
    SharedBreakers::Consumers list;
    for (int i = 0; i < consumers; ++i) {
      list[absl::StrCat(i)] = {kS};
    }
    return shared_->OnConsumers(list, {}, clock_.Now()).at(0).needed;
  };
  EXPECT_EQ(needed(2, 50), 2);
  EXPECT_EQ(needed(4, 50), 2);
  EXPECT_EQ(needed(5, 50), 3);
  EXPECT_EQ(needed(10, 33), 4);
  EXPECT_EQ(needed(10, 100), 10);
  EXPECT_EQ(needed(1000, 1), 10);
}

TEST_F(SharedBreakersTest, WhoIsGoneAndComesBackHasNotVotedAnew) {
  const SharedBreakers::Consumers list = {{"a", {kS}}, {"b", {kS}}, {"c", {}}};
  EXPECT_THAT(Verdicts(list), ElementsAre(kS));
  // The registry was started anew, and all enter themselves again one by one.
  EXPECT_THAT(Verdicts({}), IsEmpty());
  clock_.Advance(absl::Minutes(59));
  EXPECT_THAT(Verdicts({{"a", {kS}}}), IsEmpty());
  EXPECT_THAT(Verdicts(list), IsEmpty());
  // Another process, though, is another consumer.
  EXPECT_THAT(Verdicts({{"a", {kS}}, {"b", {kS}}, {"d", {kS}}}), ElementsAre(kS));
  EXPECT_THAT(Verdicts({}), IsEmpty());
  clock_.Advance(absl::Minutes(61));
  EXPECT_THAT(Verdicts(list), ElementsAre(kS)) << "forgotten";
}

TEST_F(SharedBreakersTest, ItsOwnVoteCountsAsItIsNow) {
  Open(kS);
  EXPECT_THAT(Verdicts({{"me", {}}, {"a", {}}, {"b", {kS}}}), ElementsAre(kS));
  Change(kS, BreakerState::kOpen, BreakerState::kHalfOpen, BreakerReason::kWaitOver);
  Change(kS, BreakerState::kHalfOpen, BreakerState::kClosed, BreakerReason::kProbesSucceeded);
  // The list has not heard of it yet.
  EXPECT_THAT(Verdicts({{"me", {kS}}, {"a", {kS}}, {"b", {}}}), IsEmpty());
}

TEST_F(SharedBreakersTest, BreakersAreVotedForApart) {
  EXPECT_THAT(Verdicts({{"a", {kS, kOfMethod}}, {"b", {kS, kOfInstance}}, {"c", {kOfInstance}}}),
              ElementsAre(kS, kOfInstance));
}

TEST_F(SharedBreakersTest, NamesThatAreNoneOfTheServicesAreIgnored) {
  const std::vector<std::string> bad = {"", "demo.T", "demo.SX", "demo", "demo.S-x", kS};
  EXPECT_THAT(Verdicts({{"a", bad}, {"b", bad}}), ElementsAre(kS));
  EXPECT_EQ(shared_->bad_votes(), 10u);
  std::vector<std::string> many;
  for (int i = 0; i < 1200; ++i) many.push_back(absl::StrCat("demo.S@10.0.0.1:", i + 1));
  EXPECT_THAT(Verdicts({{"a", many}, {"c", many}}), SizeIs(BreakerVotes::kMaxVotes));
}

TEST_F(SharedBreakersTest, ForgedVotersWhoAreGoneAreNotKeptForAnHour) {
  for (int round = 0; round < 3; ++round) {
    SharedBreakers::Consumers forged;
    for (size_t i = 0; i < SharedBreakers::kMaxVoters - 10; ++i) {
      forged[absl::StrCat("forged-", round, "-", i)] = {absl::StrCat("demo.S/", i)};
    }
    Verdicts(forged);
    EXPECT_LE(shared_->voters(), SharedBreakers::kMaxVoters);
  }
  EXPECT_EQ(shared_->bad_votes(), 0u) << "those who are gone have made room";
}

TEST_F(SharedBreakersTest, VotesBeyondWhatIsKeptAreIgnoredAndCounted) {
  SharedBreakers::Consumers list;
  for (size_t i = 0; i < SharedBreakers::kMaxVoters + 5; ++i) list[absl::StrCat(10000 + i)] = {kS};
  shared_->OnConsumers(list, {}, clock_.Now());
  EXPECT_EQ(shared_->voters(), SharedBreakers::kMaxVoters);
  EXPECT_EQ(shared_->bad_votes(), 5u);

  Use({.enabled = true});
  list.clear();
  std::vector<std::string> many;
  for (size_t i = 0; i < BreakerVotes::kMaxVotes; ++i) many.push_back(absl::StrCat("demo.S/", i));
  const size_t full = SharedBreakers::kMaxKept / BreakerVotes::kMaxVotes;
  for (size_t i = 0; i < full + 2; ++i) list[absl::StrCat(10000 + i)] = many;
  shared_->OnConsumers(list, {}, clock_.Now());
  EXPECT_EQ(shared_->kept(), SharedBreakers::kMaxKept);
  EXPECT_EQ(shared_->bad_votes(), 2 * BreakerVotes::kMaxVotes);
  // What is there stands, and who withdraws makes room.
  list["10000"] = {};
  shared_->OnConsumers(list, {}, clock_.Now());
  EXPECT_EQ(shared_->kept(), SharedBreakers::kMaxKept);
}

TEST_F(SharedBreakersTest, WhoDoesNotVoteIsNotKept) {
  Verdicts({{"a", {kS}}, {"b", {}}});
  EXPECT_EQ(shared_->voters(), 1u);
  Verdicts({{"a", {}}, {"b", {}}});
  EXPECT_EQ(shared_->voters(), 0u);
  EXPECT_EQ(shared_->kept(), 0u);
}

// --- the breakers themselves

TEST_F(SharedBreakersTest, ABreakerOpenedByOthersGoesOnAsEver) {
  BreakerRules rules;
  std::vector<BreakerTransition> transitions;
  CircuitBreaker breaker(rules, [&](const BreakerTransition& t) { transitions.push_back(t); });
  ASSERT_TRUE(breaker.OpenByOthers(clock_.Now()));
  EXPECT_FALSE(breaker.OpenByOthers(clock_.Now())) << "it is open";
  EXPECT_EQ(breaker.state(), BreakerState::kOpen);
  EXPECT_EQ(transitions.at(0).reason, BreakerReason::kShared);
  EXPECT_EQ(transitions.at(0).wait, rules.half_open_initial_delay);
  EXPECT_FALSE(breaker.TryAcquire(clock_.Now()).allowed);
  clock_.Advance(rules.half_open_initial_delay);
  const auto probe = breaker.TryAcquire(clock_.Now());
  ASSERT_TRUE(probe.allowed);
  EXPECT_FALSE(breaker.OpenByOthers(clock_.Now())) << "it finds out for itself";
  breaker.OnSuccess(probe.permit, clock_.Now());
  EXPECT_EQ(breaker.state(), BreakerState::kClosed);
}

TEST_F(SharedBreakersTest, OthersDoNotOpenWhatAnOperatorHasSet) {
  for (const BreakerState state :
       {BreakerState::kForcedOpen, BreakerState::kDisabled, BreakerState::kMetricsOnly}) {
    CircuitBreaker breaker{BreakerRules()};
    breaker.Force(state, clock_.Now());
    EXPECT_FALSE(breaker.OpenByOthers(clock_.Now()));
    EXPECT_EQ(breaker.state(), state);
  }
}

}  // namespace
}  // namespace marpc::testing
