// Threads that make one call after the other until they are stopped.
#ifndef DEMO_CONSUMER_LOAD_H_
#define DEMO_CONSUMER_LOAD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "demo-consumer/evidence.h"
#include "marpc/consumer/call_options.h"

namespace demo {

// Thread-safe.
class Load {
 public:
  // Makes one call and says how it ended. Called by several threads at once.
  using Call = std::function<absl::Status()>;
  struct Totals {
    int64_t calls = 0;
    int64_t failed = 0;
    absl::Status first_failure;
  };

  Load(int threads, Call call);
  ~Load() { Stop(); }

  // Until that many more have ended. DeadlineExceeded when they take longer than a minute.
  absl::Status WaitForCalls(int64_t more);
  // Until a call that has ended made `condition` true. Unavailable names `what` when none does.
  absl::Status WaitUntil(const std::string& what, std::function<bool()> condition,
                         absl::Duration timeout);
  Totals totals() const;
  Totals Stop();

 private:
  void Run();

  const Call call_;
  mutable absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  Totals totals_ ABSL_GUARDED_BY(mutex_);
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
