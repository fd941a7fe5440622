#include "marpc/provider/executor.h"

#include <utility>

namespace marpc {

Executor::Executor(int threads, int max_queued) : max_queued_(static_cast<size_t>(max_queued)) {
  absl::MutexLock lock(&join_mutex_);
  threads_.reserve(static_cast<size_t>(threads));
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { RunTasks(); });
  } catch (...) {
    // No destructor runs for an object that was never whole.
    {
      absl::MutexLock stop(&mutex_);
      stopped_ = true;
      work_.SignalAll();
    }
    for (std::thread& thread : threads_) thread.join();
    throw;
  }
}

Executor::~Executor() { Shutdown(); }

bool Executor::Submit(Task task) {
  absl::MutexLock lock(&mutex_);
  // A task for which a thread is free does not wait, though it passes through the queue.
  if (stopped_ || queue_.size() >= idle_ + max_queued_) return false;
  queue_.push_back(std::move(task));
  work_.Signal();
  return true;
}

void Executor::Shutdown() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    work_.SignalAll();
  }
  absl::MutexLock lock(&join_mutex_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Executor::RunTasks() {
  absl::MutexLock lock(&mutex_);
  for (;;) {
    ++idle_;
    while (!HasWork()) work_.Wait(&mutex_);
    --idle_;
    if (queue_.empty()) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    mutex_.Unlock();
    task();
    task = nullptr;  // what it owns ends outside the lock
    mutex_.Lock();
  }
}

}  // namespace marpc
