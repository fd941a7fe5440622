#include "marpc/loadbalance/slow_start.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"

namespace marpc {

absl::Status SlowStart::Validate(const SlowStartSettings& settings) {
  if (settings.window < absl::ZeroDuration() || settings.window == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError("slowStart.window must be finite and not negative");
  }
  if (!(settings.aggression > 0) || !std::isfinite(settings.aggression)) {
    return absl::InvalidArgumentError("slowStart.aggression must be above 0");
  }
  if (!(settings.min_weight_percent > 0) || settings.min_weight_percent > 100) {
    return absl::InvalidArgumentError("slowStart.minWeightPercent must be above 0, up to 100");
  }
  return absl::OkStatus();
}

void SlowStart::OnList(absl::Span<const std::shared_ptr<LiveInstance>> instances,
                       MonotonicTime now) {
  PlainMutexLock lock(&mutex_);
  absl::flat_hash_set<const LiveInstance*> in_use;
  for (const std::shared_ptr<LiveInstance>& instance : instances_) in_use.insert(instance.get());
  instances_.assign(instances.begin(), instances.end());
  for (const std::shared_ptr<LiveInstance>& instance : instances_) {
    if (!in_use.contains(instance.get())) Begin(*instance, now);
  }
  FindOldest();
}

void SlowStart::OnBack(absl::Span<LiveInstance* const> instances, MonotonicTime now) {
  PlainMutexLock lock(&mutex_);
  for (LiveInstance* instance : instances) Begin(*instance, now);
  FindOldest();
}

void SlowStart::Begin(LiveInstance& instance, MonotonicTime now) {
  instance.set_in_use_since(now);
  instance.turns().StartOver(ShareAt(absl::ZeroDuration()));
  warming_until_nanos_.store(std::max(warming_until_nanos_.load(std::memory_order_relaxed),
                                      (now + settings_.window).nanos()),
                             std::memory_order_relaxed);
}

void SlowStart::FindOldest() {
  MonotonicTime oldest = MonotonicTime::InfiniteFuture();
  for (const std::shared_ptr<LiveInstance>& instance : instances_) {
    oldest = std::min(oldest, instance->in_use_since());
  }
  oldest_since_nanos_.store(oldest.nanos(), std::memory_order_relaxed);
}

double SlowStart::Share(const LiveInstance* instance, MonotonicTime now) const {
  const MonotonicTime since = instance->in_use_since();
  const auto oldest = MonotonicTime::FromNanos(oldest_since_nanos_.load(std::memory_order_relaxed));
  if (since <= oldest || now - since >= settings_.window) return 1;
  return std::min(1.0, ShareAt(now - since) / ShareAt(now - oldest));
}

double SlowStart::ShareAt(absl::Duration age) const {
  const double passed = std::clamp(absl::FDivDuration(age, settings_.window), 0.0, 1.0);
  return std::max(settings_.min_weight_percent / 100, std::pow(passed, 1 / settings_.aggression));
}

}  // namespace marpc
