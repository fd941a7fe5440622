// One thread that owns the state of a registry: tasks, timers and file descriptors, one after
// another.
//
//   absl::StatusOr<std::unique_ptr<EventLoop>> loop = EventLoop::Create("marpc-registry");
//   (*loop)->Post([&] { ... });        // from anywhere
//
// What only this thread touches needs no lock, so no order of locks can be wrong.
#ifndef MARPC_REGISTRY_EVENT_LOOP_H_
#define MARPC_REGISTRY_EVENT_LOOP_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"

namespace marpc {

// Timers run on the real clock: they only say when to look again, and what is decided then asks the
// injected clock.
class EventLoop {
 public:
  using Task = absl::AnyInvocable<void()>;
  using TimerId = uint64_t;

  // `thread_name` is what debuggers show: at most 15 characters. Fails when the process has used up
  // its file descriptors or threads.
  static absl::StatusOr<std::unique_ptr<EventLoop>> Create(const char* thread_name);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs `task` on the loop's thread, after what was posted before. Dropped, unrun, once Stop() has
  // begun. Thread-safe.
  void Post(Task task);

  // Runs what was posted before, then ends and joins the thread. Idempotent. Not to be called on
  // the loop's thread.
  void Stop();

  // The rest is for the loop's own thread.

  TimerId After(absl::Duration delay, Task task);
  // No effect on a timer that has fired.
  void CancelTimer(TimerId id);
  // Runs `ready` whenever `fd` can be read, until UnwatchFd().
  void WatchFd(int fd, Task ready);
  void UnwatchFd(int fd);

 private:
  EventLoop(int epoll_fd, int wake_fd) : epoll_fd_(epoll_fd), wake_fd_(wake_fd) {}
  absl::Status Start(const char* thread_name);
  void Run();
  bool RunPosted();
  void RunTimers();
  int EpollTimeoutMs() const;

  // -1: there is none.
  const int epoll_fd_;
  const int wake_fd_;

  std::mutex mutex_;  // a standard one, which ThreadSanitizer can follow into
  std::deque<Task> posted_;
  bool stopping_ = false;

  // On the loop's thread only.
  std::map<std::pair<MonotonicTime, TimerId>, Task> timers_;
  std::map<TimerId, MonotonicTime> timer_times_;
  TimerId next_timer_ = 1;
  // By a number that is never used twice: the kernel may report an fd that was closed and opened
  // anew meanwhile.
  struct Watch {
    int fd;
    Task ready;
  };
  std::map<uint64_t, Watch> watches_;
  uint64_t next_watch_ = 1;

  std::once_flag stop_once_;
  std::thread thread_;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_EVENT_LOOP_H_
