// The gentle return: after a breaker has closed, the share of calls that it lets through grows from
// a part to all of them.
#ifndef MARPC_CIRCUITBREAKER_RAMP_H_
#define MARPC_CIRCUITBREAKER_RAMP_H_

#include <algorithm>

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/even_share.h"
#include "marpc/config/breaker_settings.h"

namespace marpc {

// Not thread-safe.
class Ramp {
 public:
  void Start(const BreakerRules& rules, MonotonicTime now) {
    started_at_ = now;
    admitted_.StartOver(Share(rules, now));
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
  bool Admit(const BreakerRules& rules, MonotonicTime now) {
    return admitted_.Take(Share(rules, now));
  }

 private:
  MonotonicTime started_at_;
  EvenShare admitted_;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_RAMP_H_
