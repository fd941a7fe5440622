#include "marpc/retry/hedging.h"

#include <limits>
#include <optional>

namespace marpc {
namespace {

constexpr int kLatenciesNeeded = 100;
constexpr absl::Duration kRenewEvery = absl::Milliseconds(100);
// What calls before that have paid for is kept for a few hedges alone.
constexpr absl::Duration kKeptFor = absl::Seconds(1);
constexpr int64_t kNoHedge = std::numeric_limits<int64_t>::max();

RetryBudgetSettings ShareOf(const HedgingSettings& settings) {
  RetryBudgetSettings share;
  share.percent_can_retry = settings.max_share;
  share.min_retries_per_sec = 0;
  share.initial = 0;
  share.ttl = absl::Seconds(10);
  return share;
}

}  // namespace

Hedging::Hedging(const HedgingSettings& settings, MonotonicTime now)
    : settings_(settings), share_(ShareOf(settings), now, kKeptFor), delay_nanos_(kNoHedge) {}

absl::Duration Hedging::Delay(MonotonicTime now) {
  if (settings_.percentile <= 0) return settings_.delay;
  int64_t renew_at = renew_at_nanos_.load(std::memory_order_relaxed);
  if (now.nanos() >= renew_at &&
      renew_at_nanos_.compare_exchange_strong(renew_at, (now + kRenewEvery).nanos(),
                                              std::memory_order_relaxed)) {
    const std::optional<absl::Duration> found =
        latencies_.Percentile(settings_.percentile / 100, kLatenciesNeeded, now);
    delay_nanos_.store(found.has_value() ? absl::ToInt64Nanoseconds(*found) : kNoHedge,
                       std::memory_order_relaxed);
  }
  const int64_t delay = delay_nanos_.load(std::memory_order_relaxed);
  return delay == kNoHedge ? absl::InfiniteDuration() : absl::Nanoseconds(delay);
}

}  // namespace marpc
