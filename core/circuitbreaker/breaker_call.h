// A breaker around any callable: a database query, an HTTP request, a file on a network disk.
//
//   marpc::CircuitBreaker breaker(marpc::BreakerRules{});
//   absl::StatusOr<Row> row = breaker.Call([&] { return db.Query(id); });
//
// The callable returns absl::Status, absl::StatusOr<T>, void or any T; Call() answers with a status
// or a StatusOr<T>. Refused, it is not called, and the answer is UNAVAILABLE with the reason
// CIRCUIT_BREAKER_OPEN (ErrorInfo). Errors that answer a bad request (NOT_FOUND,
// INVALID_ARGUMENT, ...) are successes to the breaker and CANCELLED is nothing; `judge` may say
// otherwise. What the callable throws is a failure, and goes on.
//
// With retries: marpc::Retry::OnError().Breaker(p), p a shared_ptr to it: asked for each attempt.
#ifndef MARPC_CIRCUITBREAKER_BREAKER_CALL_H_
#define MARPC_CIRCUITBREAKER_BREAKER_CALL_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "marpc/base/clock.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/circuitbreaker/refusal.h"
#include "marpc/retry/peer_errors.h"
#include "marpc/retry/retry_result.h"

namespace marpc {

enum class BreakerVerdict { kSuccess, kFailure, kNothing };

inline BreakerVerdict JudgeByCode(const absl::Status& status) {
  if (status.ok()) return BreakerVerdict::kSuccess;
  if (absl::IsCancelled(status)) return BreakerVerdict::kNothing;
  return SpeaksAgainstThePeer(status) ? BreakerVerdict::kFailure : BreakerVerdict::kSuccess;
}

struct BreakerCall {
  // For messages.
  std::string name = "operation";
  // What the callable's status means to the breaker.
  std::function<BreakerVerdict(const absl::Status&)> judge = JudgeByCode;
  const Clock& clock = Clock::Real();
};

// Gives a permit back on every way out.
class HeldBreakerPermit {
 public:
  HeldBreakerPermit(CircuitBreaker& breaker, CircuitBreaker::Permit permit, const Clock& clock)
      : breaker_(breaker), permit_(permit), clock_(clock) {}
  HeldBreakerPermit(const HeldBreakerPermit&) = delete;
  HeldBreakerPermit& operator=(const HeldBreakerPermit&) = delete;
  ~HeldBreakerPermit() {
    if (held_) breaker_.OnFailure(permit_, clock_.Now());
  }
  void Report(BreakerVerdict verdict) {
    held_ = false;
    switch (verdict) {
      case BreakerVerdict::kSuccess:
        return breaker_.OnSuccess(permit_, clock_.Now());
      case BreakerVerdict::kFailure:
        return breaker_.OnFailure(permit_, clock_.Now());
      case BreakerVerdict::kNothing:
        return breaker_.Release(permit_);
    }
  }

 private:
  CircuitBreaker& breaker_;
  const CircuitBreaker::Permit permit_;
  const Clock& clock_;
  bool held_ = true;
};

template <typename Fn>
auto CircuitBreaker::Call(Fn&& fn, const BreakerCall& call) {
  using Result = std::invoke_result_t<Fn&>;
  using Answer = typename retry_internal::Returned<std::remove_cvref_t<Result>>::Answer;
  const Admission admission = TryAcquire(call.clock.Now());
  if (!admission.allowed) return Answer(RefusalStatus(call.name, admission));
  HeldBreakerPermit permit(*this, admission.permit, call.clock);
  Answer answer = retry_internal::AnswerBy<Answer>([&]() -> decltype(auto) { return fn(); });
  permit.Report(call.judge(retry_internal::StatusOf(answer)));
  return answer;
}

template <typename Fn>
auto CircuitBreaker::Call(Fn&& fn) {
  return Call(std::forward<Fn>(fn), BreakerCall());
}

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_BREAKER_CALL_H_
