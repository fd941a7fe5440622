#include <string>
#include <utility>

#include "marpc/circuitbreaker/refusal.h"
#include "marpc/retry/peer_errors.h"
#include "marpc/retry/policies.h"

namespace marpc {
namespace {

RetryVerdict Refused(const RetryContext& context, const CircuitBreaker::Admission& refused) {
  return RetryVerdict::Spent(refused.refusal == BreakerRefusal::kRampUp
                                 ? "the circuit breaker does not let all calls through yet"
                                 : "the circuit breaker is open",
                             RefusalStatus(context.operation(), refused));
}

absl::Status CheckGiven(const void* breaker) {
  if (breaker != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError("Breaker() was given no breaker");
}

class BreakAfterSession final : public RetryPolicy {
 public:
  explicit BreakAfterSession(std::shared_ptr<SessionBreaker> breaker)
      : breaker_(std::move(breaker)) {}
  absl::string_view name() const override { return "session-breaker"; }
  absl::Status Validate() const override { return CheckGiven(breaker_.get()); }

  RetryVerdict MayTry(RetryContext& context) override {
    const absl::Duration retry_after = breaker_->RetryAfter(context.now());
    if (retry_after == absl::ZeroDuration()) return RetryVerdict::TryAgain();
    context.Memory<bool>(this) = true;  // refused
    CircuitBreaker::Admission refused;
    refused.refusal = BreakerRefusal::kOpen;
    refused.retry_after = retry_after;
    return Refused(context, refused);
  }
  void End(RetryContext& context) override {
    // A session without an attempt says nothing of the peer.
    if (context.spent() && context.attempt() > 0 && !context.Memory<bool>(this)) {
      breaker_->Open(context.now());
    }
  }

 private:
  const std::shared_ptr<SessionBreaker> breaker_;
};

// Holds at most one permit a session: that of the attempt that runs or comes.
class BreakPerAttempt final : public RetryPolicy {
 public:
  BreakPerAttempt(std::shared_ptr<CircuitBreaker> breaker,
                  std::function<bool(const absl::Status&)> counts)
      : breaker_(std::move(breaker)),
        counts_(counts != nullptr ? std::move(counts) : SpeaksAgainstThePeer) {}
  absl::string_view name() const override { return "circuit-breaker"; }
  absl::Status Validate() const override { return CheckGiven(breaker_.get()); }

  RetryVerdict MayTry(RetryContext& context) override {
    if (context.attempt() == 0) return Acquire(context);
    Held& held = context.Memory<Held>(this);
    if (absl::IsCancelled(context.last_error()) || !std::exchange(held.out, false)) {
      return RetryVerdict::TryAgain();
    }
    if (!context.last_error().ok() && counts_(context.last_error())) {
      breaker_->OnFailure(held.permit, context.now());
    } else {
      breaker_->OnSuccess(held.permit, context.now());
    }
    return RetryVerdict::TryAgain();
  }
  RetryVerdict BeforeRetry(RetryContext& context) override { return Acquire(context); }
  void Dropped(RetryContext& context) override { Release(context); }
  // A session that something else ended before its attempt, or that was cancelled during it.
  void End(RetryContext& context) override { Release(context); }

 private:
  struct Held {
    bool out = false;
    CircuitBreaker::Permit permit;
  };
  RetryVerdict Acquire(RetryContext& context) {
    // First: the probe of a cancelled attempt may be the only one there is.
    Release(context);
    const CircuitBreaker::Admission admission = breaker_->TryAcquire(context.now());
    if (!admission.allowed) return Refused(context, admission);
    context.Memory<Held>(this) = {true, admission.permit};
    return RetryVerdict::TryAgain();
  }
  void Release(RetryContext& context) {
    Held& held = context.Memory<Held>(this);
    if (std::exchange(held.out, false)) breaker_->Release(held.permit);
  }

  const std::shared_ptr<CircuitBreaker> breaker_;
  const std::function<bool(const absl::Status&)> counts_;
};

}  // namespace

std::shared_ptr<RetryPolicy> Breaker(std::shared_ptr<SessionBreaker> breaker) {
  return std::make_shared<BreakAfterSession>(std::move(breaker));
}

std::shared_ptr<RetryPolicy> Breaker(std::shared_ptr<CircuitBreaker> breaker,
                                     std::function<bool(const absl::Status&)> counts) {
  return std::make_shared<BreakPerAttempt>(std::move(breaker), std::move(counts));
}

}  // namespace marpc
