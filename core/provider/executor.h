// The threads that run the handlers that may block, and the bounded queue before them.
//
//   marpc::Executor executor(/*threads=*/16, /*max_queued=*/1000);
//   if (!executor.Submit([&] { Work(); })) Refuse();
#ifndef MARPC_PROVIDER_EXECUTOR_H_
#define MARPC_PROVIDER_EXECUTOR_H_

#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

namespace marpc {

// First in, first out. Thread-safe.
class Executor {
 public:
  using Task = absl::AnyInvocable<void()>;

  // Starts the threads; throws std::system_error when the system has none left. `max_queued` counts
  // the tasks that wait because every thread is busy; 0 means that a task finds a free thread or is
  // refused.
  Executor(int threads, int max_queued);
  // As Shutdown().
  ~Executor();

  // False when the queue is full or after Shutdown(): the task is then destroyed without having
  // run. A task must not throw.
  [[nodiscard]] bool Submit(Task task);

  // Takes no more tasks, runs those that wait, and joins the threads. Idempotent; not to be called
  // from a task.
  void Shutdown();

 private:
  void RunTasks();
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopped_ || !queue_.empty(); }

  const size_t max_queued_;
  absl::Mutex mutex_;
  std::deque<Task> queue_ ABSL_GUARDED_BY(mutex_);
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  absl::CondVar work_;

  absl::Mutex join_mutex_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(join_mutex_);
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_EXECUTOR_H_
