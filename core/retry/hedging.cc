#include "marpc/retry/hedging.h"

#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"

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

absl::Status Hedging::Validate(const HedgingSettings& settings) {
  if (settings.delay < absl::Milliseconds(1)) {
    return absl::InvalidArgumentError(absl::StrCat("retry.hedging.delay is at least 1 ms, not ",
                                                   absl::FormatDuration(settings.delay)));
  }
  if (!(settings.percentile >= 0 && settings.percentile < 100)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "retry.hedging.percentile is below 100, and 0 for none, not ", settings.percentile));
  }
  if (settings.max_hedges < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("retry.hedging.maxHedges is at least 1, not ", settings.max_hedges));
  }
  if (!(settings.max_share > 0 && settings.max_share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("retry.hedging.maxShare is above 0 and at most 1, not ", settings.max_share));
  }
  return absl::OkStatus();
}

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
