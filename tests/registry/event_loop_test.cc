#include "marpc/registry/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/registry/registry_fixture.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;

TEST(EventLoopTest, StopRunsWhatWasPostedBefore) {
  const std::unique_ptr<EventLoop> made = *EventLoop::Create("test");
  EventLoop& loop = *made;
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) loop.Post([&, i] { order.push_back(i); });
  loop.Stop();
  loop.Post([&] { order.push_back(99); });
  loop.Stop();
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST(EventLoopTest, ManyThreadsMayPost) {
  const std::unique_ptr<EventLoop> made = *EventLoop::Create("test");
  EventLoop& loop = *made;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) loop.Post([&] { ++count; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  loop.Stop();
  EXPECT_EQ(count, 4000);
}

TEST(EventLoopTest, TimersFireInTheirOrderAndNotWhenCancelled) {
  const std::unique_ptr<EventLoop> made = *EventLoop::Create("test");
  EventLoop& loop = *made;
  std::vector<int> order;
  std::atomic<bool> done{false};
  loop.Post([&] {
    loop.After(absl::Milliseconds(20), [&] {
      order.push_back(2);
      done = true;
    });
    loop.After(absl::Milliseconds(5), [&] { order.push_back(1); });
    const EventLoop::TimerId cancelled =
        loop.After(absl::Milliseconds(1), [&] { order.push_back(99); });
    loop.CancelTimer(cancelled);
    loop.CancelTimer(cancelled);
  });
  ASSERT_TRUE(Eventually([&] { return done.load(); }));
  loop.Stop();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(EventLoopTest, ATimerMaySetTheNext) {
  const std::unique_ptr<EventLoop> made = *EventLoop::Create("test");
  EventLoop& loop = *made;
  std::atomic<int> ticks{0};
  std::function<void()> tick = [&] {
    if (++ticks < 5) loop.After(absl::ZeroDuration(), [&] { tick(); });
  };
  loop.Post([&] { tick(); });
  EXPECT_TRUE(Eventually([&] { return ticks == 5; }));
}

TEST(EventLoopTest, AWatchedDescriptorIsReadAndMayEndItsWatch) {
  const std::unique_ptr<EventLoop> made = *EventLoop::Create("test");
  EventLoop& loop = *made;
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::atomic<int> reads{0};
  loop.Post([&] {
    loop.WatchFd(fd, [&] {
      eventfd_t value;
      eventfd_read(fd, &value);
      if (++reads == 2) loop.UnwatchFd(fd);
    });
  });
  eventfd_write(fd, 1);
  EXPECT_TRUE(Eventually([&] { return reads == 1; }));
  eventfd_write(fd, 1);
  EXPECT_TRUE(Eventually([&] { return reads == 2; }));
  eventfd_write(fd, 1);
  loop.Stop();
  EXPECT_EQ(reads, 2);
  close(fd);
}

// The most file descriptors that this process may have, for as long as this lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lowered{limit, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &lowered);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST(EventLoopTest, WithoutAFreeDescriptorThereIsNoLoop) {
  const int next = dup(STDIN_FILENO);  // the number that the next one will have
  ASSERT_GE(next, 0);
  close(next);
  for (const int free : {0, 1}) {
    absl::Status status;
    {
      const DescriptorLimit limit(next + free);
      status = EventLoop::Create("test").status();
    }
    EXPECT_FALSE(status.ok()) << free << " free";
  }
  EXPECT_TRUE(EventLoop::Create("test").ok());
}

}  // namespace
}  // namespace marpc
