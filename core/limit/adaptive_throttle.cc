#include "marpc/limit/adaptive_throttle.h"

#include <algorithm>

namespace marpc {

double AdaptiveThrottle::RefusalProbability(MonotonicTime now) const {
  const auto requests = static_cast<double>(requests_.Sum(now));
  const auto accepts = static_cast<double>(accepts_.Sum(now));
  return std::clamp((requests - multiplier_ * accepts) / (requests + 1), 0.0, max_refusal_);
}

bool AdaptiveThrottle::Admits(MonotonicTime now, RandomSource& random) {
  const double refusal = RefusalProbability(now);
  if (refusal <= 0 || random.Uniform() >= refusal) return true;
  requests_.Add(now);
  return false;
}

void AdaptiveThrottle::OnOutcome(bool accepted, MonotonicTime now) {
  requests_.Add(now);
  if (accepted) accepts_.Add(now);
}

}  // namespace marpc
