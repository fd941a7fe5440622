// The limits that a consumer's calls of one service, or of one method, pass.
#ifndef MARPC_LIMIT_CALL_LIMITS_H_
#define MARPC_LIMIT_CALL_LIMITS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "marpc/config/limit_settings.h"
#include "marpc/limit/adaptive_throttle.h"
#include "marpc/limit/bulkhead.h"
#include "marpc/limit/rate_limit.h"

namespace marpc {

// What is off is null.
struct CallLimits {
  // What is wrong with `settings`, if anything.
  static absl::Status Validate(const CallLimitSettings& settings);
  // `settings` must be valid. Null where they limit nothing.
  static std::shared_ptr<CallLimits> Make(const CallLimitSettings& settings);

  std::unique_ptr<AdaptiveThrottle> throttle;
  std::unique_ptr<RateLimit> rate;
  std::unique_ptr<Bulkhead> bulkhead;
  absl::Duration max_wait;  // of the bulkhead
};

}  // namespace marpc

#endif  // MARPC_LIMIT_CALL_LIMITS_H_
