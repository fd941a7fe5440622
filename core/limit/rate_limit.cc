#include "marpc/limit/rate_limit.h"

#include <algorithm>
#include <cmath>

namespace marpc {
namespace {

// A thousandth of a call is lost in binary fractions, not wanted: 0.1 * 10 is one call.
int64_t CallsIn(double rate, absl::Duration window) {
  return std::max<int64_t>(
      1, static_cast<int64_t>(std::floor(rate * absl::ToDoubleSeconds(window) + 1e-3)));
}

}  // namespace

RateLimit::RateLimit(double rate, absl::Duration window)
    : calls_(CallsIn(rate, window)), taken_(absl::Seconds(static_cast<double>(calls_) / rate)) {}

bool RateLimit::TryTake(MonotonicTime now, double share) {
  const int64_t most =
      std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(calls_) * share));
  if (taken_.Sum(now) >= most) return false;
  taken_.Add(now);
  if (taken_.Sum(now) <= most) return true;
  taken_.TakeBack(now);
  return false;
}

}  // namespace marpc
