#include "marpc/base/timer_queue.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/base/wake_up.h"

namespace marpc {

struct TimerQueue::State : std::enable_shared_from_this<State> {
  using Key = std::pair<MonotonicTime, TimerId>;

  State(const Clock& clock, ThreadStarter starter)
      : clock(clock), start_thread(std::move(starter)) {}

  const Clock& clock;
  const ThreadStarter start_thread;
  // So that Start() costs no lock when there is nothing to do.
  std::atomic<bool> started{false};
  PlainMutex mutex;
  std::condition_variable_any changed;
  std::map<Key, absl::AnyInvocable<void()>> timers ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<TimerId, MonotonicTime> times ABSL_GUARDED_BY(mutex);
  TimerId last_id ABSL_GUARDED_BY(mutex) = 0;
  bool stopped ABSL_GUARDED_BY(mutex) = false;
  // Of the thread that runs the timers; one with an earlier number has handed over and ends.
  int turn ABSL_GUARDED_BY(mutex) = 0;
  std::thread thread ABSL_GUARDED_BY(mutex);

  absl::Status StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const int mine = turn + 1;
    const auto run = [state = shared_from_this(), mine] { state->Run(mine); };
    try {
      thread = start_thread == nullptr ? std::thread(run) : start_thread(run);
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the system gives no thread for timers: ", error.what()));
    }
    turn = mine;
    started.store(true, std::memory_order_relaxed);
    return absl::OkStatus();
  }

  void Run(int mine) ABSL_LOCKS_EXCLUDED(mutex) {
    PlainMutexLock lock(&mutex);
    while (!stopped && turn == mine) {
      if (timers.empty()) {
        changed.wait(mutex);
        continue;
      }
      const absl::Duration wait = timers.begin()->first.first - clock.Now();
      if (wait > absl::ZeroDuration()) {
        WaitForChange(changed, mutex, wait);
        continue;
      }
      auto first = timers.extract(timers.begin());
      times.erase(first.key().second);
      mutex.unlock();
      first.mapped()();
      first.mapped() = nullptr;  // what it holds is let go without the lock
      mutex.lock();
    }
  }
};

TimerQueue::TimerQueue(const Clock& clock, ThreadStarter start_thread)
    : state_(std::make_shared<State>(clock, std::move(start_thread))) {}

TimerQueue::~TimerQueue() { Stop(); }

absl::Status TimerQueue::Start() {
  if (state_->started.load(std::memory_order_relaxed)) return absl::OkStatus();
  PlainMutexLock lock(&state_->mutex);
  if (state_->stopped || state_->thread.joinable()) return absl::OkStatus();
  return state_->StartThread();
}

TimerQueue::TimerId TimerQueue::At(MonotonicTime when, absl::AnyInvocable<void()> fire) {
  PlainMutexLock lock(&state_->mutex);
  if (state_->stopped) return 0;
  if (!state_->thread.joinable() && !state_->StartThread().ok()) return 0;
  const TimerId id = ++state_->last_id;
  state_->times.emplace(id, when);
  const auto it = state_->timers.emplace(State::Key{when, id}, std::move(fire)).first;
  if (it == state_->timers.begin()) state_->changed.notify_one();
  return id;
}

void TimerQueue::HandOver() {
  PlainMutexLock lock(&state_->mutex);
  if (state_->stopped || state_->thread.get_id() != std::this_thread::get_id()) return;
  std::thread mine = std::move(state_->thread);
  if (state_->StartThread().ok()) {
    mine.detach();  // it holds the state itself
  } else {
    state_->thread = std::move(mine);
  }
}

bool TimerQueue::Cancel(TimerId id) {
  absl::AnyInvocable<void()> dropped;
  PlainMutexLock lock(&state_->mutex);
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
    PlainMutexLock lock(&state_->mutex);
    state_->stopped = true;
    dropped.swap(state_->timers);
    state_->times.clear();
    thread.swap(state_->thread);
    state_->changed.notify_all();
  }
  if (!thread.joinable()) return;
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();  // it holds the state itself, and ends when this function of its own returns
  } else {
    thread.join();
  }
}

}  // namespace marpc
