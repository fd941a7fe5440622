// Threads that make one call after the other until they are stopped.
#ifndef DEMO_CONSUMER_LOAD_H_
#define DEMO_CONSUMER_LOAD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "demo-consumer/ended_calls.h"
#include "demo-consumer/evidence.h"
#include "marpc/consumer/call_options.h"

namespace demo {

// Thread-safe.
class Load {
 public:
  // Makes one call and says how it ended. Called by several threads at once.
  using Call = std::function<absl::Status()>;
  using Totals = EndedCalls::Totals;

  Load(int threads, Call call);
  ~Load() { Stop(); }

  // As in EndedCalls.
  absl::Status WaitForCalls(int64_t more) { return ended_.WaitForMore(more); }
  absl::Status WaitUntil(const std::string& what, std::function<bool()> condition,
                         absl::Duration timeout) {
    return ended_.WaitUntil(what, std::move(condition), timeout);
  }
  Totals totals() const { return ended_.totals(); }
  Totals Stop();

 private:
  void Run();

  const Call call_;
  EndedCalls ended_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// `threads` threads, each making `each` calls: call(thread, number). Returns what failed.
Load::Totals RunInThreads(int threads, int each, const std::function<absl::Status(int, int)>& call);

// The attempts of many calls, by instance. Thread-safe.
class AttemptTally {
 public:
  void Add(const marpc::CallReport& report);
  CountByInstance answered() const;
  CountByInstance failed() const;

 private:
  mutable absl::Mutex mutex_;
  CountByInstance answered_ ABSL_GUARDED_BY(mutex_);
  CountByInstance failed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace demo

#endif  // DEMO_CONSUMER_LOAD_H_
