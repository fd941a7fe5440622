#include "marpc/retry/policies.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

class AttemptLimit final : public RetryPolicy {
 public:
  AttemptLimit(int attempts, absl::Status valid) : attempts_(attempts), valid_(std::move(valid)) {}
  absl::string_view name() const override { return "max-attempts"; }
  absl::Status Validate() const override { return valid_; }
  RetryVerdict MayTry(RetryContext& context) override {
    if (context.attempt() < attempts_) return RetryVerdict::TryAgain();
    return RetryVerdict::Spent(absl::StrCat("no attempt left (", attempts_, " made)"));
  }

 private:
  const int attempts_;
  const absl::Status valid_;
};

class Predicate final : public RetryPolicy {
 public:
  explicit Predicate(std::function<bool(const RetryContext&)> wanted)
      : wanted_(std::move(wanted)) {}
  absl::string_view name() const override { return "retry-when"; }
  bool JudgesOutcomes() const override { return true; }
  absl::Status Validate() const override {
    if (wanted_ != nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError("RetryWhen() was given an empty function");
  }
  RetryVerdict MayTry(RetryContext& context) override {
    if (context.attempt() == 0) return RetryVerdict::TryAgain();
    if (RefusedForGood(context.last_error())) {
      return RetryVerdict::OutcomeStands(std::string(RuleInWords(ErrorRules::Rule::kRefused)));
    }
    if (wanted_(context)) return RetryVerdict::TryAgain();
    if (context.last_error().ok()) return RetryVerdict::OutcomeStands("answered");
    return RetryVerdict::OutcomeStands("a non-retriable error");
  }

 private:
  const std::function<bool(const RetryContext&)> wanted_;
};

class Classification final : public RetryPolicy {
 public:
  explicit Classification(ErrorRules rules) : rules_(std::move(rules)) {}
  absl::string_view name() const override { return "classify"; }
  bool JudgesOutcomes() const override { return true; }
  absl::Status Validate() const override { return rules_.Validate(); }
  RetryVerdict MayTry(RetryContext& context) override {
    if (context.attempt() == 0) return RetryVerdict::TryAgain();
    const ErrorRules::Verdict verdict = rules_.Judge(context.last_error(), context.last_result());
    if (verdict.retry) return RetryVerdict::TryAgain();
    if (context.last_error().ok()) return RetryVerdict::OutcomeStands("answered");
    return RetryVerdict::OutcomeStands(
        absl::StrCat("a non-retriable error: ", RuleInWords(verdict.rule)));
  }

 private:
  const ErrorRules rules_;
};

class BackoffWait final : public RetryPolicy {
 public:
  using Own = std::function<std::optional<absl::Duration>(const RetryContext&)>;
  BackoffWait(Own own, Backoff backoff) : own_(std::move(own)), backoff_(std::move(backoff)) {}
  absl::string_view name() const override { return "wait"; }
  absl::Status Validate() const override { return backoff_.Validate(); }
  RetryVerdict MayTry(RetryContext& context) override {
    if (context.attempt() == 0) return RetryVerdict::TryAgain();
    Memory& memory = context.Memory<Memory>(this);
    if (context.pushback().has_value()) {
      // The peer's word is taken instead, and the backoff begins anew after it.
      memory = Memory();
      return RetryVerdict::TryAgain();
    }
    if (own_ != nullptr) {
      const std::optional<absl::Duration> wait = own_(context);
      if (wait.has_value() && *wait >= absl::ZeroDuration()) return RetryVerdict::TryAgain(*wait);
    }
    return RetryVerdict::TryAgain(backoff_.Delay(++memory.retry, context.random(), memory.backoff));
  }

 private:
  struct Memory {
    int retry = 0;
    BackoffMemory backoff;
  };
  const Own own_;
  const Backoff backoff_;
};

class TimeLimit final : public RetryPolicy {
 public:
  explicit TimeLimit(absl::Duration limit) : limit_(limit) {}
  absl::string_view name() const override { return "total-time"; }
  absl::Status Validate() const override {
    if (limit_ > absl::ZeroDuration()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("TotalTime() must be positive, not ", absl::FormatDuration(limit_)));
  }
  void Start(RetryContext& context) override {
    context.LimitDeadline(context.started_at() + limit_);
  }
  RetryVerdict MayTry(RetryContext& context) override { return Within(context.elapsed()); }
  // In AnyOf() the session's deadline may be later than this limit.
  RetryVerdict BeforeRetry(RetryContext& context) override {
    return Within(context.elapsed() + context.wait());
  }

 private:
  RetryVerdict Within(absl::Duration elapsed) const {
    if (elapsed < limit_) return RetryVerdict::TryAgain();
    return RetryVerdict::Spent(
        absl::StrCat("the total time of ", absl::FormatDuration(limit_), " is used up"));
  }
  const absl::Duration limit_;
};

class BudgetedRetries final : public RetryPolicy {
 public:
  explicit BudgetedRetries(std::shared_ptr<RetryBudget> budget) : budget_(std::move(budget)) {}
  absl::string_view name() const override { return "budget"; }
  absl::Status Validate() const override {
    if (budget_ != nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError("Budget() was given no budget");
  }
  void Start(RetryContext& context) override { budget_->Deposit(context.now()); }
  RetryVerdict BeforeRetry(RetryContext& context) override {
    const auto withdrawal = budget_->TryWithdraw(context.now());
    if (!withdrawal.has_value()) return RetryVerdict::Spent("the retry budget is spent");
    context.Memory<RetryBudget::Withdrawal>(this) = *withdrawal;
    return RetryVerdict::TryAgain();
  }
  void Dropped(RetryContext& context) override {
    budget_->GiveBack(context.Memory<RetryBudget::Withdrawal>(this), context.now());
  }

 private:
  const std::shared_ptr<RetryBudget> budget_;
};

}  // namespace

std::shared_ptr<RetryPolicy> MaxAttempts(int n) {
  absl::Status valid;
  if (n < 1) {
    valid = absl::InvalidArgumentError(
        absl::StrCat("MaxAttempts() counts the first attempt too and must be 1 or more, not ", n));
  }
  return std::make_shared<AttemptLimit>(n, std::move(valid));
}

std::shared_ptr<RetryPolicy> MaxRetries(int n) {
  absl::Status valid;
  if (n < 0) {
    valid = absl::InvalidArgumentError(absl::StrCat("MaxRetries() must be 0 or more, not ", n));
  }
  return std::make_shared<AttemptLimit>(n == std::numeric_limits<int>::max() ? n : n + 1,
                                        std::move(valid));
}

std::shared_ptr<RetryPolicy> RetryWhen(std::function<bool(const RetryContext&)> wanted) {
  return std::make_shared<Predicate>(std::move(wanted));
}

std::shared_ptr<RetryPolicy> Classify(ErrorRules rules) {
  return std::make_shared<Classification>(std::move(rules));
}

std::shared_ptr<RetryPolicy> WaitBy(Backoff backoff) {
  return std::make_shared<BackoffWait>(nullptr, std::move(backoff));
}

std::shared_ptr<RetryPolicy> WaitBy(
    std::function<std::optional<absl::Duration>(const RetryContext&)> own, Backoff otherwise) {
  return std::make_shared<BackoffWait>(std::move(own), std::move(otherwise));
}

std::shared_ptr<RetryPolicy> TotalTime(absl::Duration limit) {
  return std::make_shared<TimeLimit>(limit);
}

std::shared_ptr<RetryPolicy> Budget(std::shared_ptr<RetryBudget> budget) {
  return std::make_shared<BudgetedRetries>(std::move(budget));
}

}  // namespace marpc
