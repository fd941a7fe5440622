// What all sessions of one operation share: its policies, its listeners and where it logs.
#ifndef MARPC_RETRY_RETRY_STACK_H_
#define MARPC_RETRY_RETRY_STACK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "marpc/retry/retry_listener.h"
#include "marpc/retry/retry_log.h"
#include "marpc/retry/retry_policy.h"

namespace marpc {

struct RetryStack {
  // For messages and logs.
  std::string operation = "operation";
  // Asked in this order; each has passed its Validate().
  std::vector<std::shared_ptr<RetryPolicy>> policies;
  std::vector<std::shared_ptr<RetryListener>> listeners;
  // Of one attempt; 0: none of its own.
  absl::Duration attempt_timeout = absl::ZeroDuration();
  // A result that the policies do not want is an error when there is no means left to try again.
  bool fail_when_spent = false;
  RetryLogSink log = LogRetryLine;
};

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_STACK_H_
