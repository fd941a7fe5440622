#include "marpc/filter/cache_filter.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "tests/filter/filter_call_fixture.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using testing::FilterUse;
using Kind = Filter::Verdict::Kind;

class CacheFilterTest : public ::testing::Test {
 protected:
  CacheFilterTest() {
    settings_.cache.enabled = true;
    settings_.cache.ttl = absl::Seconds(60);
  }

  FilterUse Call(const std::string& question, RpcContext context = {}) {
    return FilterUse(cache_, method_, settings_, clock_, question, std::move(context));
  }
  // Asks and, on a miss, answers with `answer`. What the caller gets.
  std::string Ask(const std::string& question, const std::string& answer, RpcContext context = {}) {
    FilterUse call = Call(question, std::move(context));
    const Filter::Verdict verdict = call.Before();
    if (verdict.kind == Kind::kContinue) call.Answered(answer);
    return call.reply();
  }
  static RpcContext Context(std::initializer_list<std::pair<std::string, std::string>> entries) {
    RpcContext context;
    for (const auto& [key, value] : entries) EXPECT_TRUE(context.Set(key, value).ok());
    return context;
  }

  SimulatedClock clock_;
  MethodSettings settings_;
  const Method& method_ = InternMethod({.service = "test.Cache", .name = "Get"});
  const Method& other_method_ = InternMethod({.service = "test.Cache", .name = "GetOther"});
  CacheFilter cache_;
};

TEST_F(CacheFilterTest, AsksTheSameQuestionOnce) {
  EXPECT_EQ(Ask("q", "one"), "one");
  EXPECT_EQ(Ask("q", "two"), "one");
  EXPECT_EQ(Ask("r", "two"), "two");
  EXPECT_EQ(cache_.size(), 2u);
}

TEST_F(CacheFilterTest, AnAnswerLivesForLessThanItsTtl) {
  Ask("q", "one");
  clock_.Advance(absl::Seconds(60) - absl::Nanoseconds(1));
  EXPECT_EQ(Ask("q", "two"), "one");
  clock_.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(Ask("q", "two"), "two");
  EXPECT_EQ(cache_.size(), 1u);
}

TEST_F(CacheFilterTest, BeingAskedForDoesNotProlongALife) {
  Ask("q", "one");
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(Ask("q", "two"), "one");
    clock_.Advance(absl::Seconds(10));
  }
  EXPECT_EQ(Ask("q", "two"), "two");
}

TEST_F(CacheFilterTest, TheLeastRecentlyUsedGivesWayBeyondMaxEntries) {
  settings_.cache.max_entries = 2;
  Ask("a", "1");
  Ask("b", "1");
  Ask("a", "2");
  Ask("c", "1");
  EXPECT_EQ(cache_.size(), 2u);
  EXPECT_EQ(Ask("a", "3"), "1");
  EXPECT_EQ(Ask("b", "3"), "3");
}

TEST_F(CacheFilterTest, TheLeastRecentlyUsedGivesWayBeyondMaxBytes) {
  settings_.cache.max_bytes = 1000;
  Ask("a", std::string(300, 'x'));
  Ask("b", std::string(300, 'x'));
  EXPECT_EQ(cache_.size(), 2u);
  EXPECT_LE(cache_.bytes(), 1000u);
  Ask("c", std::string(300, 'x'));
  EXPECT_EQ(cache_.size(), 2u);
  EXPECT_EQ(Ask("a", "new"), "new");
}

TEST_F(CacheFilterTest, AnAnswerLargerThanTheRoomIsNotKeptAndPushesNoneOut) {
  settings_.cache.max_bytes = 500;
  Ask("small", "1");
  Ask("large", std::string(1000, 'x'));
  EXPECT_EQ(cache_.size(), 1u);
  EXPECT_EQ(Ask("small", "2"), "1");
}

TEST_F(CacheFilterTest, NoCallerIsServedAnothersAnswer) {
  EXPECT_EQ(Ask("q", "for-1", Context({{"userId", "1"}})), "for-1");
  EXPECT_EQ(Ask("q", "for-2", Context({{"userId", "2"}})), "for-2");
  EXPECT_EQ(Ask("q", "for-none"), "for-none");
  EXPECT_EQ(Ask("q", "for-tenant", Context({{"userId", "1"}, {"tenant", "t"}})), "for-tenant");
  EXPECT_EQ(cache_.size(), 4u);
}

TEST_F(CacheFilterTest, NoTwoQuestionsShareAKeyHoweverTheirPartsRun) {
  const std::vector<RpcContext> contexts = {Context({{"a", "b"}}),
                                            Context({{"ab", ""}}),
                                            Context({{"a", ""}, {"b", ""}}),
                                            Context({{"a",
                                                      "\x01"
                                                      "b\x01"}}),
                                            Context({{"a", "b"}, {"c", "d"}}),
                                            Context({{"a", std::string("b\x01"
                                                                       "c\x01"
                                                                       "d",
                                                                       5)}})};
  for (size_t i = 0; i < contexts.size(); ++i) {
    EXPECT_EQ(Ask("q", std::to_string(i), contexts[i]), std::to_string(i));
  }
  EXPECT_EQ(cache_.size(), contexts.size());
}

TEST_F(CacheFilterTest, TraceIdsDoNotMakeAQuestionAnother) {
  EXPECT_EQ(Ask("q", "one", Context({{"traceId", "1"}, {"spanId", "1"}})), "one");
  EXPECT_EQ(Ask("q", "two", Context({{"traceId", "2"}, {"requestId", "9"}})), "one");
}

TEST_F(CacheFilterTest, VaryOnNamesTheEntriesThatCount) {
  settings_.cache.vary_on = {"tenant"};
  EXPECT_EQ(Ask("q", "one", Context({{"tenant", "t"}, {"userId", "1"}})), "one");
  EXPECT_EQ(Ask("q", "two", Context({{"tenant", "t"}, {"userId", "2"}})), "one");
  EXPECT_EQ(Ask("q", "two", Context({{"tenant", "s"}, {"userId", "2"}})), "two");
}

TEST_F(CacheFilterTest, MethodsAreApart) {
  Ask("q", "one");
  FilterUse other(cache_, other_method_, settings_, clock_, "q");
  EXPECT_EQ(other.Before().kind, Kind::kContinue);
}

TEST_F(CacheFilterTest, OnlySuccessesAreKept) {
  FilterUse call = Call("q");
  call.Before();
  call.Answered(absl::NotFoundError("no such thing"));
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(Ask("q", "one"), "one");
}

TEST_F(CacheFilterTest, ACachedAnswerIsTheCallersOwnCopy) {
  Ask("q", "one");
  FilterUse call = Call("q");
  const Filter::Verdict verdict = call.Before();
  EXPECT_EQ(verdict.kind, Kind::kAnswer);
  EXPECT_EQ(verdict.answer, CallReport::Answer::kCache);
  call.Answered("changed by its caller");
  EXPECT_EQ(Ask("q", "two"), "one");
}

// --- Single flight

TEST_F(CacheFilterTest, FollowersShareTheAnswerOfTheOneThatFetches) {
  FilterUse leader = Call("q");
  FilterUse follower = Call("q");
  EXPECT_EQ(leader.Before().kind, Kind::kContinue);
  const Filter::Verdict waiting = follower.Before();
  ASSERT_EQ(waiting.kind, Kind::kWait);
  EXPECT_FALSE(waiting.pending->settled());
  leader.Answered("one");
  EXPECT_TRUE(waiting.pending->settled());
  EXPECT_EQ(follower.Before().kind, Kind::kAnswer);
  EXPECT_EQ(follower.reply(), "one");
}

TEST_F(CacheFilterTest, FollowersShareAnAnswerThatIsNotKept) {
  settings_.cache.max_bytes = 10;
  FilterUse leader = Call("q");
  FilterUse follower = Call("q");
  leader.Before();
  follower.Before();
  leader.Answered("one");
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(follower.Before().kind, Kind::kAnswer);
  EXPECT_EQ(follower.reply(), "one");
}

TEST_F(CacheFilterTest, AFollowerThatLooksTooEarlyWaitsOn) {
  FilterUse leader = Call("q");
  FilterUse follower = Call("q");
  leader.Before();
  follower.Before();
  EXPECT_EQ(follower.Before().kind, Kind::kWait);
  leader.Answered("one");
  EXPECT_EQ(follower.Before().kind, Kind::kAnswer);
}

TEST_F(CacheFilterTest, FollowersShareABusinessErrorAndALostCall) {
  for (const bool business : {true, false}) {
    FilterUse leader = Call("q");
    FilterUse follower = Call("q");
    leader.Before();
    follower.Before();
    absl::Status error = absl::UnavailableError("gone");
    ErrorInfo info;
    info.set_origin(business ? ErrorInfo::BUSINESS : ErrorInfo::NETWORK);
    SetErrorInfo(error, info);
    business ? leader.Answered(error) : leader.Lost(error);
    const Filter::Verdict verdict = follower.Before();
    EXPECT_EQ(verdict.kind, business ? Kind::kAnswer : Kind::kFail);
    EXPECT_EQ(verdict.status, error);
  }
}

TEST_F(CacheFilterTest, ATimeOutOfTheBackendIsSharedToo) {
  FilterUse leader = Call("q");
  FilterUse follower = Call("q");
  leader.Before();
  follower.Before();
  leader.Lost(absl::DeadlineExceededError("no answer in time"));
  EXPECT_EQ(follower.Before().kind, Kind::kFail) << "or they would hang one after another";
}

TEST_F(CacheFilterTest, ACancelledLeaderHandsOverToOneFollower) {
  FilterUse leader = Call("q");
  FilterUse second = Call("q");
  FilterUse third = Call("q");
  leader.Before();
  second.Before();
  third.Before();
  leader.Lost(absl::CancelledError("by its caller"));
  EXPECT_EQ(second.Before().kind, Kind::kContinue);
  EXPECT_EQ(third.Before().kind, Kind::kWait);
  second.Answered("one");
  EXPECT_EQ(third.Before().kind, Kind::kAnswer);
  EXPECT_EQ(third.reply(), "one");
}

TEST_F(CacheFilterTest, ALeaderPastItsOwnDeadlineHandsOver) {
  FilterUse leader = Call("q");
  FilterUse follower = Call("q");
  leader.set_deadline(clock_.Now());
  leader.Before();
  follower.Before();
  leader.Lost(absl::DeadlineExceededError("its own"));
  EXPECT_EQ(follower.Before().kind, Kind::kContinue);
}

TEST_F(CacheFilterTest, ALeaderThatIsDroppedWithoutAWordHandsOver) {
  FilterUse leader = Call("q");
  FilterUse follower = Call("q");
  leader.Before();
  follower.Before();
  leader.Drop();
  EXPECT_EQ(follower.Before().kind, Kind::kContinue);
}

TEST_F(CacheFilterTest, ClearInMidFetchServesThoseWhoWaitAndKeepsNothing) {
  Ask("kept", "1");
  FilterUse leader = Call("q");
  FilterUse follower = Call("q");
  leader.Before();
  follower.Before();
  cache_.Clear();
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(cache_.bytes(), 0u);
  FilterUse later = Call("q");
  EXPECT_EQ(later.Before().kind, Kind::kContinue) << "a question of after the clearing";
  leader.Answered("old");
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(follower.Before().kind, Kind::kAnswer);
  later.Answered("new");
  EXPECT_EQ(Ask("q", "newer"), "new");
}

TEST_F(CacheFilterTest, ManyThreadsWithOneQuestionMakeOneFetch) {
  constexpr int kThreads = 16;
  std::atomic<int> fetches{0};
  std::atomic<int> waiting{0};
  std::vector<std::string> replies(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      FilterUse call = Call("q");
      const Filter::Verdict verdict = call.Before();
      if (verdict.kind == Kind::kContinue) {
        fetches.fetch_add(1);
        while (waiting.load() < kThreads - 1) std::this_thread::yield();
        call.Answered("one");
      } else {
        absl::Notification settled;
        verdict.pending->WhenSettled([&] { settled.Notify(); });
        waiting.fetch_add(1);
        settled.WaitForNotification();
        EXPECT_EQ(call.Before().kind, Kind::kAnswer);
      }
      replies[t] = call.reply();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fetches.load(), 1);
  EXPECT_THAT(replies, ::testing::Each("one"));
}

TEST_F(CacheFilterTest, SurvivesThreadsThatAskClearAndCount) {
  settings_.cache.max_entries = 3;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        const std::string question = std::to_string((i * 7 + t) % 5);
        FilterUse call = Call(question);
        if (call.Before().kind == Kind::kContinue) call.Answered("answer to " + question);
        if (!call.reply().empty()) {
          EXPECT_EQ(call.reply(), "answer to " + question);
        }
        if (i % 100 == 0) cache_.Clear();
        EXPECT_LE(cache_.size(), 3u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CacheFilterTest, AFetchThatHadNoTimeForARetryIsHandedOver) {
  FilterUse first = Call("q");
  ASSERT_EQ(first.Before().kind, Kind::kContinue);
  FilterUse second = Call("q");
  ASSERT_EQ(second.Before().kind, Kind::kWait);
  first.set_out_of_time();
  first.Lost(absl::UnavailableError("connection broken"));
  EXPECT_EQ(second.Before().kind, Kind::kContinue) << "has the time, and asks itself";
}

}  // namespace
}  // namespace marpc
