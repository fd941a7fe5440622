#include "marpc/invoker/in_flight_calls.h"

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace marpc {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

TEST(InFlightCallsTest, ClosesAtOnceWhereNothingIsInFlight) {
  InFlightCalls calls;
  EXPECT_TRUE(calls.Close(absl::ZeroDuration()));
  CancelSignal signal;
  InFlightCalls::Entry entry(&signal);
  EXPECT_FALSE(calls.Enter(entry));
  EXPECT_TRUE(calls.Close(absl::ZeroDuration())) << "idempotent";
}

TEST(InFlightCallsTest, CancelsWhatIsInFlightAndWaitsUntilItHasLeft) {
  InFlightCalls calls;
  std::atomic<int> left{0};
  std::atomic<int> entered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 20; ++t) {
    threads.emplace_back([&] {
      CancelSignal signal;
      InFlightCalls::Entry entry(&signal);
      ASSERT_TRUE(calls.Enter(entry));
      entered.fetch_add(1);
      while (!signal.cancelled()) std::this_thread::yield();
      left.fetch_add(1);
      calls.Leave(entry);
    });
  }
  while (entered.load() < 20) std::this_thread::yield();
  EXPECT_TRUE(calls.Close(kPatience));
  EXPECT_EQ(left.load(), 20);
  for (std::thread& thread : threads) thread.join();
}

TEST(InFlightCallsTest, SaysWhenACallDidNotLeaveInTime) {
  InFlightCalls calls;
  CancelSignal signal;
  InFlightCalls::Entry entry(&signal);
  ASSERT_TRUE(calls.Enter(entry));
  EXPECT_FALSE(calls.Close(absl::Milliseconds(1)));
  EXPECT_TRUE(signal.cancelled());
  calls.Leave(entry);
  EXPECT_TRUE(calls.Close(absl::ZeroDuration()));
}

TEST(InFlightCallsTest, WhoIsToldOfACallsEndMayCloseAndOthersWaitForThat) {
  InFlightCalls calls;
  CancelSignal signal;
  InFlightCalls::Entry entry(&signal);
  ASSERT_TRUE(calls.Enter(entry));
  calls.BeginToTell(entry);
  EXPECT_TRUE(calls.Close(absl::ZeroDuration()));
  std::thread([&] { EXPECT_FALSE(calls.Close(absl::ZeroDuration())); }).join();
  bool left = false;
  std::thread other([&] {
    EXPECT_TRUE(calls.Close(kPatience));
    EXPECT_TRUE(left);
  });
  left = true;
  calls.Leave(entry);
  other.join();
}

TEST(InFlightCallsTest, CallsLeaveInAnyOrder) {
  for (const auto& order : {std::vector<int>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}}) {
    InFlightCalls calls;
    std::deque<CancelSignal> signals(3);
    std::deque<InFlightCalls::Entry> entries;
    for (CancelSignal& signal : signals) ASSERT_TRUE(calls.Enter(entries.emplace_back(&signal)));
    for (const int i : order) calls.Leave(entries[i]);
    EXPECT_TRUE(calls.Close(absl::ZeroDuration()));
  }
}

TEST(InFlightCallsTest, NoCallSlipsInWhileItCloses) {
  for (int round = 0; round < 100; ++round) {
    InFlightCalls calls;
    std::atomic<bool> closed{false};
    std::atomic<int> inside{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        while (!closed.load()) {
          CancelSignal signal;
          InFlightCalls::Entry entry(&signal);
          if (!calls.Enter(entry)) return;
          inside.fetch_add(1);
          inside.fetch_sub(1);
          calls.Leave(entry);
        }
      });
    }
    EXPECT_TRUE(calls.Close(kPatience));
    EXPECT_EQ(inside.load(), 0);
    closed.store(true);
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace marpc
