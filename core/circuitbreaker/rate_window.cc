#include "marpc/circuitbreaker/rate_window.h"

#include "marpc/circuitbreaker/count_window.h"
#include "marpc/circuitbreaker/time_window.h"

namespace marpc {

std::unique_ptr<RateWindow> MakeRateWindow(const BreakerRules& rules) {
  if (!rules.trip_on.rates()) return nullptr;
  if (rules.rate_window == RateWindowKind::kCalls) {
    return std::make_unique<CountWindow>(rules.rate_window_calls);
  }
  return std::make_unique<TimeWindow>(rules.rate_window_size, rules.rate_window_buckets);
}

}  // namespace marpc
