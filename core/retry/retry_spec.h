// What a marpc::Retry is made of, without its types: the stack that it puts together, and what is
// wrong with it. A value; users meet it as marpc::Retry (retry.h).
#ifndef MARPC_RETRY_RETRY_SPEC_H_
#define MARPC_RETRY_RETRY_SPEC_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <vector>

#include "absl/status/status.h"
#include "marpc/retry/backoff.h"
#include "marpc/retry/retry_policy.h"
#include "marpc/retry/retry_report.h"
#include "marpc/retry/retry_session.h"
#include "marpc/retry/retry_stack.h"
#include "marpc/retry/sleeper.h"

namespace marpc {

class RetrySpec {
 public:
  using ErrorPredicate = std::function<bool(const absl::Status&)>;

  void Add(std::shared_ptr<RetryPolicy> policy);
  // One wait a spec: another one takes the place of the first.
  void SetWait(Backoff backoff);
  void SetJitter(double jitter) { jitter_ = jitter; }
  void SetAttemptTimeout(absl::Duration timeout);
  // A predicate expects results of this type.
  void ExpectResult(std::type_index type) { result_types_.push_back(type); }
  // The fallback is asked only for these.
  void SetFallbackFor(ErrorPredicate errors) { fallback_for_ = std::move(errors); }
  bool MayFallBack(const absl::Status& error) const {
    return fallback_for_ == nullptr || fallback_for_(error);
  }
  RetryStack& stack() { return draft_; }
  RetryEnvironment& environment() { return environment_; }
  const RetryEnvironment& environment() const { return environment_; }

  // Puts the stack together. To be called after changes, before sealed() and Check().
  void Seal();
  const std::shared_ptr<const RetryStack>& sealed() const { return sealed_; }
  // InvalidArgument where it cannot be used for an operation with results of this type.
  absl::Status Check(std::type_index result_type) const;

 private:
  absl::Status FindFlaw() const;

  RetryStack draft_;
  std::optional<Backoff> wait_;
  std::optional<double> jitter_;
  std::vector<std::type_index> result_types_;
  ErrorPredicate fallback_for_;
  RetryEnvironment environment_;
  absl::Status flaw_;
  std::shared_ptr<const RetryStack> sealed_;
};

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_SPEC_H_
