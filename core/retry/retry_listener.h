// Watches retry sessions: metrics, audits, a veto before the first attempt.
#ifndef MARPC_RETRY_RETRY_LISTENER_H_
#define MARPC_RETRY_RETRY_LISTENER_H_

#include "absl/status/status.h"
#include "marpc/retry/retry_context.h"

namespace marpc {

// Shared by all sessions: thread-safe. Called by the thread that runs the session; must neither
// block nor throw. Several are told in order by OnOpen() and OnRetry(), in reverse by the others.
class RetryListener {
 public:
  virtual ~RetryListener() = default;
  // A session begins. Anything but OK vetoes it: the session ends with that status, without an
  // attempt.
  virtual absl::Status OnOpen(RetryContext& /*context*/) { return absl::OkStatus(); }
  // An attempt failed: context.last_error().
  virtual void OnError(RetryContext& /*context*/) {}
  // Another attempt comes after context.wait().
  virtual void OnRetry(RetryContext& /*context*/) {}
  // An attempt gave a result.
  virtual void OnSuccess(RetryContext& /*context*/) {}
  // The session ends; once for each session that was opened, a vetoed one included.
  virtual void OnClose(RetryContext& /*context*/) {}
};

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_LISTENER_H_
