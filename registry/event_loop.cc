#include "marpc/registry/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>

#include "marpc/registry/background_thread.h"

namespace marpc {

absl::StatusOr<std::unique_ptr<EventLoop>> EventLoop::Create(const char* thread_name) {
  // One after another, so that errno is that of the one that failed.
  const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  const int wake_fd = epoll_fd < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const int error = errno;
  std::unique_ptr<EventLoop> loop(new EventLoop(epoll_fd, wake_fd));
  if (wake_fd < 0) return absl::ErrnoToStatus(error, "no file descriptor for an event loop");
  if (absl::Status status = loop->Start(thread_name); !status.ok()) return status;
  return loop;
}

absl::Status EventLoop::Start(const char* thread_name) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event) != 0) {
    return absl::ErrnoToStatus(errno, "an event loop cannot be woken");
  }
  absl::StatusOr<std::thread> thread = StartBackgroundThread(thread_name, [this] { Run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

EventLoop::~EventLoop() {
  Stop();
  if (wake_fd_ >= 0) close(wake_fd_);
  if (epoll_fd_ >= 0) close(epoll_fd_);
}

void EventLoop::Post(Task task) {
  bool wake;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return;
    wake = posted_.empty();
    posted_.push_back(std::move(task));
  }
  if (wake) eventfd_write(wake_fd_, 1);
}

void EventLoop::Stop() {
  std::call_once(stop_once_, [this] {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    if (!thread_.joinable()) return;
    eventfd_write(wake_fd_, 1);
    thread_.join();
  });
}

EventLoop::TimerId EventLoop::After(absl::Duration delay, Task task) {
  const TimerId id = next_timer_++;
  const MonotonicTime at = Clock::Real().Now() + delay;
  timers_.emplace(std::make_pair(at, id), std::move(task));
  timer_times_[id] = at;
  return id;
}

void EventLoop::CancelTimer(TimerId id) {
  const auto at = timer_times_.find(id);
  if (at == timer_times_.end()) return;
  timers_.erase({at->second, id});
  timer_times_.erase(at);
}

void EventLoop::WatchFd(int fd, Task ready) {
  const uint64_t id = next_watch_++;
  watches_.emplace(id, Watch{fd, std::move(ready)});
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
}

void EventLoop::UnwatchFd(int fd) {
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
  std::erase_if(watches_, [fd](const auto& entry) { return entry.second.fd == fd; });
}

void EventLoop::Run() {
  while (RunPosted()) {
    RunTimers();
    epoll_event events[16];
    const int count = epoll_wait(epoll_fd_, events, std::size(events), EpollTimeoutMs());
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == 0) {
        eventfd_t value;
        eventfd_read(wake_fd_, &value);
        continue;
      }
      // Looked up anew each time: an earlier task may have ended the watch. Taken out while it
      // runs, so that it may end itself.
      const auto found = watches_.find(events[i].data.u64);
      if (found == watches_.end()) continue;
      Task ready = std::move(found->second.ready);
      ready();
      const auto again = watches_.find(events[i].data.u64);
      if (again != watches_.end()) again->second.ready = std::move(ready);
    }
  }
}

bool EventLoop::RunPosted() {
  std::deque<Task> tasks;
  bool stopping;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    tasks.swap(posted_);
    stopping = stopping_;
  }
  for (Task& task : tasks) task();
  return !stopping;
}

void EventLoop::RunTimers() {
  const MonotonicTime now = Clock::Real().Now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto node = timers_.extract(timers_.begin());
    timer_times_.erase(node.key().second);
    node.mapped()();
  }
}

int EventLoop::EpollTimeoutMs() const {
  if (timers_.empty()) return -1;
  const absl::Duration left = timers_.begin()->first.first - Clock::Real().Now();
  if (left <= absl::ZeroDuration()) return 0;
  // Rounded up: to wake early would be to spin.
  const int64_t ms = absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)));
  return static_cast<int>(std::min<int64_t>(ms, std::numeric_limits<int>::max()));
}

}  // namespace marpc
