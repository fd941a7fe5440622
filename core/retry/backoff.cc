#include "marpc/retry/backoff.h"

#include <algorithm>
#include <cmath>

namespace marpc {

absl::Duration BackoffDelay(const BackoffSettings& settings, int retry, RandomSource& random) {
  if (settings.initial <= absl::ZeroDuration()) return absl::ZeroDuration();
  const double max = absl::ToDoubleSeconds(settings.max);
  double seconds =
      std::min(absl::ToDoubleSeconds(settings.initial) * std::pow(settings.factor, retry - 1), max);
  seconds += seconds * settings.jitter * (2 * random.Uniform() - 1);
  return absl::Seconds(std::clamp(seconds, 0.0, max));
}

}  // namespace marpc
