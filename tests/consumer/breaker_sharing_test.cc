// How a consumer's votes come to be written: timers, failures, and who waits for whom.
#include "marpc/consumer/breaker_sharing.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/alert/alerts.h"
#include "marpc/consumer/gray_marks.h"
#include "marpc/filter/cache_filter.h"
#include "marpc/filter/mock_filter.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/retry/retry_throttle.h"

namespace marpc::testing {
namespace {

using ::testing::ElementsAre;

constexpr char kS[] = "demo.S";
constexpr char kOther[] = "demo.S/Other";

// Counts who asks, and may hold up the one that does.
class AskedClock final : public Clock {
 public:
  explicit AskedClock(const Clock& clock) : clock_(clock) {}
  MonotonicTime Now() const override {
    ++asked;
    if (hold_up != nullptr) hold_up();
    return clock_.Now();
  }

  mutable std::atomic<int> asked{0};
  std::function<void()> hold_up;

 private:
  const Clock& clock_;
};

// Keeps what is written, or refuses it.
class Page final : public Registry {
 public:
  absl::StatusOr<std::unique_ptr<Lease>> Register(absl::string_view, const Instance&) override {
    return std::make_unique<Line>(*this);
  }
  absl::StatusOr<std::unique_ptr<Subscription>> Subscribe(absl::string_view,
                                                          Listener told) override {
    listener = std::move(told);
    return std::make_unique<Subscription>();
  }
  absl::Status SetGray(absl::string_view, const Endpoint&, bool) override { return {}; }
  absl::Status ClearGray(absl::string_view) override { return {}; }
  RegistryState state() const override { return {}; }
  void Close() override {}

  Listener listener;
  // Written by the timers' thread, read when it has nothing to do.
  absl::Status answer;
  std::vector<std::vector<std::string>> updates;

 private:
  struct Line final : Lease {
    explicit Line(Page& page) : page(page) {}
    bool registered() const override { return true; }
    absl::Status Update(const Instance& instance) override {
      page.updates.push_back(instance.tags);
      return page.answer;
    }
    absl::Status Release(absl::Duration) override { return {}; }
    Page& page;
  };
};

class BreakerSharingTest : public ::testing::Test {
 protected:
  BreakerSharingTest() {
    sharing_ = std::make_shared<BreakerSharing>(context_, kS);
    sharing_->Start([] { return std::vector<ServiceBreakers::Named>(); });
  }
  ~BreakerSharingTest() override { sharing_->Close(); }

  void Change(const std::string& breaker, BreakerState to) {
    BreakerTransition transition{};
    transition.from = BreakerState::kClosed;
    transition.to = to;
    transition.at = time_.Now();
    transition.reason = BreakerReason::kFaultLimit;
    transition.wait = absl::Hours(1);
    sharing_->OnTransition(breaker, transition);
  }
  // All timers up to then have run.
  void Advance(absl::Duration by) {
    time_.Advance(by);
    absl::Notification ran;
    context_->timers.At(time_.Now(), [&] { ran.Notify(); });
    // The queue sleeps in real time; what comes before all others wakes it.
    context_->timers.At(MonotonicTime(), [] {});
    ran.WaitForNotification();
  }

  SimulatedClock time_;
  AskedClock clock_{time_};
  const std::shared_ptr<Page> page_ = std::make_shared<Page>();
  const std::shared_ptr<ConsumerContext> context_{new ConsumerContext{.settings = {},
                                                                      .options = {},
                                                                      .registry = page_,
                                                                      .transport = nullptr,
                                                                      .clock = clock_,
                                                                      .created_at = {},
                                                                      .timers = TimerQueue(time_),
                                                                      .health_probe = nullptr,
                                                                      .mock = nullptr,
                                                                      .cache = nullptr,
                                                                      .gray = nullptr,
                                                                      .alerts = nullptr}};
  std::shared_ptr<BreakerSharing> sharing_;
};

TEST_F(BreakerSharingTest, ManyWritesLeaveOneTimer) {
  Change(kS, BreakerState::kOpen);  // its vote ends after two hours and ten seconds
  const MonotonicTime ends = time_.Now() + (absl::Hours(2) + absl::Seconds(10));
  for (int i = 0; i < 50; ++i) {
    Advance(absl::Seconds(1));
    Change(kOther, BreakerState::kOpen);
    Advance(absl::Seconds(1));
    Change(kOther, BreakerState::kClosed);
  }
  Advance(absl::Seconds(1));
  EXPECT_THAT(page_->updates.back(), ElementsAre(kS));
  const int before = clock_.asked;
  Advance(ends - time_.Now());
  EXPECT_LE(clock_.asked - before, 2);
  EXPECT_THAT(page_->updates.back(), ElementsAre());
}

TEST_F(BreakerSharingTest, WhatCouldNotBeWrittenIsWrittenLater) {
  page_->answer = absl::InvalidArgumentError("too long");
  Change(kS, BreakerState::kOpen);
  Advance(absl::Seconds(1));
  EXPECT_THAT(page_->updates, ElementsAre(ElementsAre(kS)));
  page_->answer = absl::OkStatus();
  Advance(absl::Seconds(1));
  EXPECT_THAT(page_->updates, ElementsAre(ElementsAre(kS), ElementsAre(kS)));
  Advance(absl::Seconds(1));
  EXPECT_EQ(page_->updates.size(), 2u) << "it is written";
}

TEST_F(BreakerSharingTest, VotesForBreakersThatAreNoMoreAreTakenBack) {
  Change(kS, BreakerState::kOpen);
  Change(kOther, BreakerState::kOpen);
  Advance(absl::Seconds(1));
  sharing_->ForgetGone([] {
    return std::vector<ServiceBreakers::Named>{{kS, nullptr}, {"demo.S/Third", nullptr}};
  });
  Advance(absl::Seconds(1));
  EXPECT_THAT(page_->updates, ElementsAre(ElementsAre(kS, kOther), ElementsAre(kS)));
}

TEST_F(BreakerSharingTest, ACallDoesNotWaitForTheVotesOfOthersToBeCounted) {
  absl::Notification counting, go_on, called;
  clock_.hold_up = [&] {
    counting.Notify();
    go_on.WaitForNotification();
  };
  std::thread registry([&] { page_->listener(std::make_shared<ServiceSnapshot>()); });
  counting.WaitForNotification();
  std::thread call([&] {
    Change(kS, BreakerState::kOpen);
    called.Notify();
  });
  // Far more than it takes.
  EXPECT_TRUE(called.WaitForNotificationWithTimeout(absl::Seconds(10)));
  go_on.Notify();
  registry.join();
  call.join();
  clock_.hold_up = nullptr;
}

}  // namespace
}  // namespace marpc::testing
