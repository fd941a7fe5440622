// A part of the decision whether to try again. The built-in ones are in policies.h; a policy of
// one's own implements this and is put into a stack (marpc::Retry::With), or registered in
// ConsumerOptions::retry_policies and named in YAML under `retry.policies`.
//
//   class OfficeHours final : public marpc::RetryPolicy {
//     absl::string_view name() const override { return "office-hours"; }
//     marpc::RetryVerdict MayTry(marpc::RetryContext& context) override {
//       if (context.attempt() == 0 || OfficeIsOpen()) return marpc::RetryVerdict::TryAgain();
//       return marpc::RetryVerdict::Spent("nobody is there to look at it");
//     }
//   };
#ifndef MARPC_RETRY_RETRY_POLICY_H_
#define MARPC_RETRY_RETRY_POLICY_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/retry/retry_context.h"

namespace marpc {

struct RetryVerdict {
  enum class Kind {
    kTryAgain,
    kOutcomeStands,  // this outcome is the answer: a success, or an error that no retry mends
    kSpent,          // one would try again, but may not: the fallback may answer
  };
  Kind kind = Kind::kTryAgain;
  // kTryAgain: to wait before it. The waits of a stack add up.
  absl::Duration wait = absl::ZeroDuration();
  // kOutcomeStands, kSpent: in words, for logs and messages.
  std::string reason;
  // kSpent, before the first attempt: what the session fails with, there being no outcome. OK: a
  // FailedPrecondition that gives the reason.
  absl::Status error;

  static RetryVerdict TryAgain(absl::Duration wait = absl::ZeroDuration()) {
    return {Kind::kTryAgain, wait, "", absl::OkStatus()};
  }
  static RetryVerdict OutcomeStands(std::string reason = "") {
    return {Kind::kOutcomeStands, absl::ZeroDuration(), std::move(reason), absl::OkStatus()};
  }
  static RetryVerdict Spent(std::string reason, absl::Status error = absl::OkStatus()) {
    return {Kind::kSpent, absl::ZeroDuration(), std::move(reason), std::move(error)};
  }
};

// Shared by all sessions: thread-safe. What is kept for one session lies in
// RetryContext::Memory(). Functions must neither block nor throw.
class RetryPolicy {
 public:
  virtual ~RetryPolicy() = default;
  // For messages.
  virtual absl::string_view name() const = 0;
  // What is wrong with the values it was made of, if anything. Asked once, when it is put into a
  // stack.
  virtual absl::Status Validate() const { return absl::OkStatus(); }
  // It says itself which outcomes are final (OutcomeStands). marpc::Retry adds "errors are tried
  // again, results are not" to a stack in which no policy does.
  virtual bool JudgesOutcomes() const { return false; }

  // A session begins.
  virtual void Start(RetryContext& /*context*/) {}
  // Before every attempt, the first one too (context.attempt() is 0 then): may it be made? Takes
  // nothing yet. All policies are asked; OutcomeStands of one wins over Spent of another.
  virtual RetryVerdict MayTry(RetryContext& /*context*/) { return RetryVerdict::TryAgain(); }
  // All have agreed to a retry: take what it costs. May still say Spent, when another session was
  // quicker.
  virtual RetryVerdict BeforeRetry(RetryContext& /*context*/) { return RetryVerdict::TryAgain(); }
  // The retry that BeforeRetry() took for does not happen: give it back.
  virtual void Dropped(RetryContext& /*context*/) {}
  // The session ends; context.spent() says how.
  virtual void End(RetryContext& /*context*/) {}
};

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_POLICY_H_
