// What became of one operation with its retries; and what a caller may say about one call of it.
//
//   marpc::RetryReport report;
//   absl::StatusOr<Order> order = retry.Call(load, {.report = &report});
//   if (report.answered_by == marpc::RetryReport::AnsweredBy::kFallback) MarkAsStale(order);
#ifndef MARPC_RETRY_RETRY_REPORT_H_
#define MARPC_RETRY_RETRY_REPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "marpc/base/cancel.h"
#include "marpc/base/clock.h"

namespace marpc {

struct RetryReport {
  enum class AnsweredBy {
    kOperation,  // its last attempt gave the result
    kFallback,
    kNone,  // the call failed
  };
  AnsweredBy answered_by = AnsweredBy::kNone;
  int attempts = 0;
  // Before each retry.
  std::vector<absl::Duration> waits;
  // Attempts that never reached their peer and were made again (RetryContext::NeverSent).
  int uncounted_attempts = 0;
  // Of the last attempt; OK when it gave a result, or when there was none.
  absl::Status last_error;
  // Why there was no further attempt.
  std::string end_reason;
  // The means to go on were used up (attempts, time, budget, breaker).
  bool spent = false;
  // It may have failed itself: then its error is the call's.
  bool fallback_ran = false;
};

struct RetryCall {
  // Filled in when the call ends. Must live until then.
  RetryReport* report = nullptr;
  // Ends the call with Cancelled: at once during a wait, else before the next attempt.
  std::shared_ptr<CancelSignal> cancel = nullptr;
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
};

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_REPORT_H_
