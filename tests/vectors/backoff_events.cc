#include "tests/vectors/backoff_events.h"

#include <algorithm>

namespace marpc::vectors {

Json Ms(absl::Duration wait) {
  if (wait % kMs == absl::ZeroDuration()) return absl::ToInt64Milliseconds(wait);
  return absl::ToDoubleMilliseconds(wait);
}

absl::Duration Truncated(absl::Duration wait) {
  return absl::Trunc(wait + absl::Nanoseconds(1) / 2, kMs);
}

double BelowOne(double draw) { return std::min(draw, 1 - 1e-8); }

BackoffSettings Exact(BackoffStrategy strategy) {
  BackoffSettings settings;
  settings.strategy = strategy;
  settings.max = kLongestInJava;
  settings.jitter = 0;
  return settings;
}

absl::Duration DelayOf(const BackoffSettings& settings, int retry, double draw) {
  OneDraw random(draw);
  BackoffMemory memory;
  return BackoffDelay(settings, retry, random, memory);
}

Json EachWait(const VectorCase& vector,
              const std::function<absl::Duration(int attempt, double draw)>& wait) {
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"attempt", "draw"});
    got.push_back(Ms(wait(event.at("attempt").get<int>(), event.value("draw", 0.5))));
  }
  return got;
}

Json Validity(bool valid) { return valid ? "ok" : "invalid"; }

}  // namespace marpc::vectors
