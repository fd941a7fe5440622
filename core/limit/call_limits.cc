#include "marpc/limit/call_limits.h"

#include "absl/strings/str_cat.h"

namespace marpc {

absl::Status CallLimits::Validate(const CallLimitSettings& settings) {
  const auto wrong = [](absl::string_view key, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("limit.", key, " ", what));
  };
  if (settings.max_concurrent < 0) return wrong("maxConcurrent", "must not be negative");
  if (settings.max_wait < absl::ZeroDuration()) return wrong("maxWait", "must not be negative");
  if (settings.max_waiting < 1) return wrong("maxWaiting", "must be at least 1");
  if (!(settings.rate >= 0 && settings.rate <= 1e6)) return wrong("rate", "must be 0 to 1000000");
  if (settings.rate_window <= absl::ZeroDuration() || settings.rate_window > absl::Hours(1)) {
    return wrong("rateWindow", "must be above 0, up to 1h");
  }
  if (!(settings.throttle.multiplier >= 1))
    return wrong("throttle.multiplier", "must be at least 1");
  if (!(settings.throttle.max_refusal_percent > 0 &&
        settings.throttle.max_refusal_percent <= 100)) {
    return wrong("throttle.maxRefusalPercent", "must be above 0, up to 100");
  }
  if (settings.throttle.window <= absl::ZeroDuration()) {
    return wrong("throttle.window", "must be longer than 0");
  }
  return absl::OkStatus();
}

std::shared_ptr<CallLimits> CallLimits::Make(const CallLimitSettings& settings) {
  auto limits = std::make_shared<CallLimits>();
  if (settings.throttle.enabled) {
    limits->throttle = std::make_unique<AdaptiveThrottle>(settings.throttle);
  }
  if (settings.rate > 0) {
    limits->rate = std::make_unique<RateLimit>(settings.rate, settings.rate_window);
  }
  if (settings.max_concurrent > 0) {
    limits->bulkhead = std::make_unique<Bulkhead>(settings.max_concurrent, settings.max_waiting);
  }
  limits->max_wait = settings.max_wait;
  const bool any =
      limits->throttle != nullptr || limits->rate != nullptr || limits->bulkhead != nullptr;
  return any ? limits : nullptr;
}

}  // namespace marpc
