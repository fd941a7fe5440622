#include <algorithm>
#include <limits>
#include <utility>

#include "marpc/retry/policies.h"

namespace marpc {

class AnyOfPolicy final : public RetryPolicy {
 public:
  explicit AnyOfPolicy(std::vector<std::shared_ptr<RetryPolicy>> members)
      : members_(std::move(members)) {}

  absl::string_view name() const override { return "any-of"; }

  absl::Status Validate() const override {
    if (members_.empty()) return absl::InvalidArgumentError("AnyOf() was given no policy");
    for (const auto& member : members_) {
      if (member == nullptr) return absl::InvalidArgumentError("AnyOf() was given a null policy");
      if (absl::Status valid = member->Validate(); !valid.ok()) return valid;
    }
    return absl::OkStatus();
  }

  // A member that does not judge would try a final outcome again.
  bool JudgesOutcomes() const override {
    for (const auto& member : members_) {
      if (!member->JudgesOutcomes()) return false;
    }
    return true;
  }

  // The session may last as long as the member allows that allows most.
  void Start(RetryContext& context) override {
    const MonotonicTime before = context.limit_;
    MonotonicTime latest = MonotonicTime::FromNanos(std::numeric_limits<int64_t>::min());
    for (const auto& member : members_) {
      context.limit_ = before;
      member->Start(context);
      latest = std::max(latest, context.limit_);
    }
    context.limit_ = latest;
  }

  RetryVerdict MayTry(RetryContext& context) override {
    std::vector<bool> agreed(members_.size());
    bool any = false;
    absl::Duration wait = absl::InfiniteDuration();
    RetryVerdict refusal;
    for (size_t i = 0; i < members_.size(); ++i) {
      RetryVerdict verdict = members_[i]->MayTry(context);
      if (verdict.kind == RetryVerdict::Kind::kTryAgain) {
        any = agreed[i] = true;
        wait = std::min(wait, verdict.wait);
      } else if (refusal.kind != RetryVerdict::Kind::kOutcomeStands) {
        refusal = std::move(verdict);
      }
    }
    if (!any) return refusal;
    context.Memory<State>(this).agreed = std::move(agreed);
    return RetryVerdict::TryAgain(wait);
  }

  RetryVerdict BeforeRetry(RetryContext& context) override {
    const std::vector<bool> agreed = context.Memory<State>(this).agreed;
    RetryVerdict refusal;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!agreed[i]) continue;
      refusal = members_[i]->BeforeRetry(context);
      if (refusal.kind != RetryVerdict::Kind::kTryAgain) continue;
      context.Memory<State>(this).payer = i;
      break;
    }
    return refusal;
  }

  void Dropped(RetryContext& context) override {
    members_[context.Memory<State>(this).payer]->Dropped(context);
  }

  void End(RetryContext& context) override {
    for (auto it = members_.rbegin(); it != members_.rend(); ++it) (*it)->End(context);
  }

 private:
  struct State {
    std::vector<bool> agreed;
    size_t payer = 0;
  };
  const std::vector<std::shared_ptr<RetryPolicy>> members_;
};

std::shared_ptr<RetryPolicy> AnyOf(std::vector<std::shared_ptr<RetryPolicy>> members) {
  return std::make_shared<AnyOfPolicy>(std::move(members));
}

}  // namespace marpc
