#include "marpc/base/timer_queue.h"

#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace marpc {

struct TimerQueue::State {
  using Key = std::pair<MonotonicTime, TimerId>;

  explicit State(const Clock& clock) : clock(clock) {}

  const Clock& clock;
  absl::Mutex mutex;
  absl::CondVar changed;
  std::map<Key, absl::AnyInvocable<void()>> timers ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<TimerId, MonotonicTime> times ABSL_GUARDED_BY(mutex);
  TimerId last_id ABSL_GUARDED_BY(mutex) = 0;
  bool stopped ABSL_GUARDED_BY(mutex) = false;
  std::thread thread ABSL_GUARDED_BY(mutex);

  void Run() ABSL_LOCKS_EXCLUDED(mutex) {
    absl::MutexLock lock(&mutex);
    while (!stopped) {
      if (timers.empty()) {
        changed.Wait(&mutex);
        continue;
      }
      const absl::Duration wait = timers.begin()->first.first - clock.Now();
      if (wait > absl::ZeroDuration()) {
        changed.WaitWithTimeout(&mutex, wait);
        continue;
      }
      auto first = timers.extract(timers.begin());
      times.erase(first.key().second);
      mutex.Unlock();
      first.mapped()();
      first.mapped() = nullptr;  // what it holds is let go without the lock
      mutex.Lock();
    }
  }
};

TimerQueue::TimerQueue(const Clock& clock) : state_(std::make_shared<State>(clock)) {}

TimerQueue::~TimerQueue() { Stop(); }

TimerQueue::TimerId TimerQueue::At(MonotonicTime when, absl::AnyInvocable<void()> fire) {
  absl::MutexLock lock(&state_->mutex);
  if (state_->stopped) return 0;
  const TimerId id = ++state_->last_id;
  state_->times.emplace(id, when);
  const auto it = state_->timers.emplace(State::Key{when, id}, std::move(fire)).first;
  if (!state_->thread.joinable()) {
    state_->thread = std::thread([state = state_] { state->Run(); });
  } else if (it == state_->timers.begin()) {
    state_->changed.Signal();
  }
  return id;
}

bool TimerQueue::Cancel(TimerId id) {
  absl::AnyInvocable<void()> dropped;
  absl::MutexLock lock(&state_->mutex);
  const auto time = state_->times.find(id);
  if (time == state_->times.end()) return false;
  const auto it = state_->timers.find({time->second, id});
  dropped = std::move(it->second);
  state_->timers.erase(it);
  state_->times.erase(time);
  return true;
}

void TimerQueue::Stop() {
  std::map<State::Key, absl::AnyInvocable<void()>> dropped;
  std::thread thread;
  {
    absl::MutexLock lock(&state_->mutex);
    state_->stopped = true;
    dropped.swap(state_->timers);
    state_->times.clear();
    thread.swap(state_->thread);
    state_->changed.SignalAll();
  }
  if (!thread.joinable()) return;
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();  // it holds the state itself, and ends when this function of its own returns
  } else {
    thread.join();
  }
}

}  // namespace marpc
