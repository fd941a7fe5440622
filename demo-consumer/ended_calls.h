// Counts calls as they end, and waits for what they bring about.
#ifndef DEMO_CONSUMER_ENDED_CALLS_H_
#define DEMO_CONSUMER_ENDED_CALLS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace demo {

// Thread-safe.
class EndedCalls {
 public:
  struct Totals {
    int64_t calls = 0;
    int64_t failed = 0;
    absl::Status first_failure;

    void Count(const absl::Status& status);
  };

  void Add(const absl::Status& status);
  // Until that many more have ended. DeadlineExceeded when they take longer than a minute.
  absl::Status WaitForMore(int64_t more);
  // Until a call that has ended made `condition` true. DeadlineExceeded names `what` when none
  // does.
  absl::Status WaitUntil(const std::string& what, std::function<bool()> condition,
                         absl::Duration timeout);
  Totals totals() const;

 private:
  mutable absl::Mutex mutex_;
  Totals totals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace demo

#endif  // DEMO_CONSUMER_ENDED_CALLS_H_
