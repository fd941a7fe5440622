// What a caller may say about one call, and learn of it.
#ifndef MARPC_CONSUMER_CALL_OPTIONS_H_
#define MARPC_CONSUMER_CALL_OPTIONS_H_

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "marpc/base/cancel.h"
#include "marpc/base/clock.h"
#include "marpc/base/error.h"
#include "marpc/context/rpc_context.h"

namespace marpc {

// How a call went. Filled when the call ends.
struct CallReport {
  // kStale: the last good answer, by staleIfError. kFallback: a fallback, or fallbackReply.
  enum class Answer { kNone, kRemote, kMock, kCache, kStale, kFallback };
  // Who gave the answer; kNone when the call failed before anyone did.
  Answer answer = Answer::kNone;
  // Every attempt, in order: instance, code, latency, and why it was or was not followed by
  // another.
  std::vector<AttemptInfo> attempts;
};

// A value type; one may serve any number of calls.
struct CallOptions {
  // The caller's deadline, counted from the call's start: bounds all attempts and waits together.
  // 0, and only that: none but the configured ones. Negative, as what is left of a deadline may be:
  // it has passed, and the call fails with DEADLINE_EXCEEDED.
  absl::Duration timeout = absl::ZeroDuration();
  // Entries for this call alone, over those of RpcContext::Current().
  RpcContext context = {};
  // Cancels the call from another thread, and every other call that has the same one. Null: it
  // cannot be cancelled.
  std::shared_ptr<CancelSignal> cancel = nullptr;
  // Where to write the report; must outlive the call. Null: none is made.
  CallReport* report = nullptr;

  // What `timeout` means for a call that starts at `now`.
  MonotonicTime DeadlineFrom(MonotonicTime now) const {
    return timeout == absl::ZeroDuration() ? MonotonicTime::InfiniteFuture() : now + timeout;
  }
};

}  // namespace marpc

#endif  // MARPC_CONSUMER_CALL_OPTIONS_H_
