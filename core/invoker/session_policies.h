// The policies and listeners that a program adds to marpc's own, around one call.
#ifndef MARPC_INVOKER_SESSION_POLICIES_H_
#define MARPC_INVOKER_SESSION_POLICIES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "google/protobuf/message_lite.h"
#include "marpc/base/clock.h"
#include "marpc/base/random.h"
#include "marpc/retry/retry_context.h"
#include "marpc/retry/retry_listener.h"
#include "marpc/retry/retry_policy.h"

namespace marpc {

// Not thread-safe: belongs to one session. What it is made of outlives it.
class SessionPolicies {
 public:
  SessionPolicies(absl::Span<const std::shared_ptr<RetryPolicy>> policies,
                  absl::Span<const std::shared_ptr<RetryListener>> listeners, RetryContext context);
  // As Close(), for a session that is dropped.
  ~SessionPolicies();

  // Before each of the others: the session's steps are taken by changing threads.
  void At(MonotonicTime now, RandomSource& random);

  struct Refusal {
    absl::Status status;
    bool vetoed;  // by a listener: no fallback is asked
  };
  // Listeners may veto, policies may refuse: the first attempt is not made then. None: it may be.
  std::optional<Refusal> Open();
  // The policies' and the caller's. After Open().
  MonotonicTime deadline() const { return context_.deadline(); }
  // The attempt that starts now; counts from 0.
  void OnAttempt(int attempt, MonotonicTime deadline);
  // The peer's push-back of the attempt that has ended, before it is told of.
  void OnPushback(absl::Duration pushback) { context_.pushback_ = pushback; }
  void OnError(const absl::Status& error, const std::string& instance);
  void OnAnswer(const google::protobuf::MessageLite& reply, const std::string& instance);

  // May another attempt follow? To be asked after every attempt, the successful one too: it is how
  // policies hear of it. TryAgain, and then `wait` is what the policies want to have waited;
  // otherwise why not, the policy's name in front.
  RetryVerdict MayRetry();
  // Takes what a retry costs; the verdict is then TryAgain. Otherwise as MayRetry().
  RetryVerdict TakeRetry(absl::Duration wait);
  // The retry is not made after all.
  void DropRetry();

  void Close(bool spent, std::string reason);

 private:
  const absl::Span<const std::shared_ptr<RetryPolicy>> policies_;
  const absl::Span<const std::shared_ptr<RetryListener>> listeners_;
  RetryContext context_;
  size_t opened_ = 0;  // listeners that were told of the session
  bool started_ = false;
};

}  // namespace marpc

#endif  // MARPC_INVOKER_SESSION_POLICIES_H_
