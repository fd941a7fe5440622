// The gentle return: after a breaker has closed, the share of calls that it lets through grows from
// a part to all of them.
#ifndef MARPC_CIRCUITBREAKER_RAMP_H_
#define MARPC_CIRCUITBREAKER_RAMP_H_

#include <algorithm>

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/config/breaker_settings.h"

namespace marpc {

// Not thread-safe.
class Ramp {
 public:
  void Start(const BreakerRules& rules, MonotonicTime now) {
    started_at_ = now;
    credit_ = 1 - Share(rules, now);  // so that the first call is let through
  }
  bool Over(const BreakerRules& rules, MonotonicTime now) const {
    return now - started_at_ >= rules.ramp_up;
  }
  // 0 to 1.
  double Share(const BreakerRules& rules, MonotonicTime now) const {
    const double from = rules.ramp_up_from / 100;
    const double passed =
        std::clamp(absl::FDivDuration(now - started_at_, rules.ramp_up), 0.0, 1.0);
    return from + (1 - from) * passed;
  }
  // Lets exactly the share of the calls through, evenly spread.
  bool Admit(const BreakerRules& rules, MonotonicTime now) {
    constexpr double kRounding = 1e-9;
    credit_ += Share(rules, now);
    if (credit_ < 1 - kRounding) return false;
    credit_ -= 1;
    return true;
  }

 private:
  MonotonicTime started_at_;
  double credit_ = 0;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_RAMP_H_
