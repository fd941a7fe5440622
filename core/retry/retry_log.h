// What a retry session says in the log: one line a retry, one when it gives up, nothing when the
// first attempt succeeds.
//
//   event=retry operation=charge attempt=1 next=2 delay=100ms code=UNAVAILABLE reason="refused"
//   event=retry_gave_up operation=charge attempts=3 code=UNAVAILABLE reason="no attempt left ..."
//
// A sink of one's own gets the same as values, and with nullptr nothing is logged:
//
//   retry.Log([](const marpc::RetryLogLine& line) { my_log.Write(line.ToString()); })
#ifndef MARPC_RETRY_RETRY_LOG_H_
#define MARPC_RETRY_RETRY_LOG_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace marpc {

struct RetryLogLine {
  enum class Event { kRetry, kGaveUp };
  Event event = Event::kRetry;
  std::string operation;
  // The one that has ended; kGaveUp: how many were made.
  int attempt = 0;
  // kRetry: the one that comes, and after how long.
  int next_attempt = 0;
  absl::Duration delay = absl::ZeroDuration();
  // Of the attempt that has ended; empty where there are none.
  std::string instance;
  // Of the attempt that has ended; OK when it gave a result that was not wanted.
  absl::Status error;
  // kRetry: the error in words. kGaveUp: why there is no further attempt.
  std::string reason;
  // kGaveUp: the means to go on were used up; false: the error is one that no retry mends.
  bool spent = false;

  // One line, whatever the texts hold: what would break it is escaped.
  std::string ToString() const;
};

// Called by the thread that runs the session: thread-safe, must not block. Null: no log.
using RetryLogSink = std::function<void(const RetryLogLine&)>;

// Into marpc's own log: at info, and at debug giving up on an error that was not to be retried.
void LogRetryLine(const RetryLogLine& line);

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_LOG_H_
