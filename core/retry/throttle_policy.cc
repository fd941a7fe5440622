#include <string>
#include <utility>

#include "marpc/retry/peer_errors.h"
#include "marpc/retry/policies.h"

namespace marpc {
namespace {

class ThrottledRetries final : public RetryPolicy {
 public:
  ThrottledRetries(std::shared_ptr<RetryThrottle> throttle,
                   std::function<bool(const absl::Status&)> counts)
      : throttle_(std::move(throttle)), counts_(counts != nullptr ? std::move(counts) : Fails) {}
  absl::string_view name() const override { return "throttle"; }
  absl::Status Validate() const override {
    if (throttle_ != nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError("Throttle() was given no throttle");
  }
  RetryVerdict MayTry(RetryContext& context) override {
    if (context.attempt() == 0) return RetryVerdict::TryAgain();
    const absl::Status& error = context.last_error();
    if (error.ok()) {
      throttle_->OnSuccess();
    } else if (RetriesForbidden(context) || counts_(error)) {
      throttle_->OnFailure();
    }
    if (throttle_->AllowsRetry()) return RetryVerdict::TryAgain();
    return RetryVerdict::Spent("too many calls fail: retries are throttled");
  }

 private:
  // A cancelled attempt says nothing.
  static bool Fails(const absl::Status& error) {
    return !absl::IsCancelled(error) && SpeaksAgainstThePeer(error);
  }
  static bool RetriesForbidden(const RetryContext& context) {
    return context.pushback().value_or(absl::ZeroDuration()) < absl::ZeroDuration();
  }
  const std::shared_ptr<RetryThrottle> throttle_;
  const std::function<bool(const absl::Status&)> counts_;
};

}  // namespace

std::shared_ptr<RetryPolicy> Throttle(std::shared_ptr<RetryThrottle> throttle,
                                      std::function<bool(const absl::Status&)> counts) {
  return std::make_shared<ThrottledRetries>(std::move(throttle), std::move(counts));
}

}  // namespace marpc
