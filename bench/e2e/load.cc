#include "bench/e2e/load.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/clock.h"

namespace marpc::bench {
namespace {

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The latencies of one lane: a thread, or a place among the calls in flight.
struct Lane {
  std::vector<int64_t> nanos;
  int failed = 0;
  void Add(MonotonicTime started, MonotonicTime ended, bool ok) {
    nanos.push_back((ended.nanos() - started.nanos()));
    failed += ok ? 0 : 1;
  }
};

void RunBlocking(Contestant& contestant, MonotonicTime until, std::vector<Lane>& lanes) {
  std::vector<std::thread> threads;
  for (Lane& lane : lanes) {
    threads.emplace_back([&contestant, &lane, until] {
      const Clock& clock = Clock::Real();
      for (MonotonicTime now = clock.Now(); now < until;) {
        const bool ok = contestant.Call();
        const MonotonicTime ended = clock.Now();
        lane.Add(now, ended, ok);
        now = ended;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class AsyncRun {
 public:
  AsyncRun(Contestant& contestant, MonotonicTime until, std::vector<Lane>& lanes)
      : contestant_(contestant), until_(until), running_(static_cast<int>(lanes.size())) {
    for (Lane& lane : lanes) Next(lane);
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](int* running) { return *running == 0; }, &running_));
  }

 private:
  void Next(Lane& lane) {
    const MonotonicTime started = Clock::Real().Now();
    contestant_.Start([this, &lane, started](bool ok) {
      const MonotonicTime ended = Clock::Real().Now();
      lane.Add(started, ended, ok);
      if (ended < until_) return Next(lane);
      absl::MutexLock lock(&mutex_);
      --running_;
    });
  }

  Contestant& contestant_;
  const MonotonicTime until_;
  absl::Mutex mutex_;
  int running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::string Load::name() const {
  return async ? absl::StrCat("async, ", width, " in flight")
               : absl::StrCat("blocking, ", width, width == 1 ? " thread" : " threads");
}

Measured Run(Contestant& contestant, const Load& load, absl::Duration duration) {
  std::vector<Lane> lanes(load.width);
  for (Lane& lane : lanes) lane.nanos.reserve(1 << 14);
  const double cpu_before = CpuSeconds();
  const MonotonicTime started = Clock::Real().Now();
  if (load.async) {
    AsyncRun(contestant, started + duration, lanes);
  } else {
    RunBlocking(contestant, started + duration, lanes);
  }
  const double seconds = absl::ToDoubleSeconds(Clock::Real().Now() - started);
  const double cpu = CpuSeconds() - cpu_before;
  std::vector<int64_t> all;
  Measured measured;
  for (const Lane& lane : lanes) {
    all.insert(all.end(), lane.nanos.begin(), lane.nanos.end());
    measured.failed += lane.failed;
  }
  if (all.empty()) return measured;
  std::sort(all.begin(), all.end());
  const double n = static_cast<double>(all.size());
  measured.calls_per_second = n / seconds;
  measured.p50_us = static_cast<double>(all[all.size() / 2]) / 1e3;
  measured.p99_us = static_cast<double>(all[all.size() * 99 / 100]) / 1e3;
  measured.client_cpu_us = cpu * 1e6 / n;
  return measured;
}

}  // namespace marpc::bench
