#include "marpc/outlier/ejections.h"

namespace marpc {

void Ejections::OnAttempt(const LiveInstance* instance, const Attempt& attempt, MonotonicTime now,
                          RandomSource& random) const {
  const auto found = records_.find(instance);
  if (found == records_.end()) return;
  OutlierWatch::Record& record = *found->second;
  // While it is ejected, and of calls that began before it was let in again, nothing counts.
  if (attempt.started_at.nanos() < record.counts_from_nanos.load(std::memory_order_relaxed)) return;
  record.tally.Count(attempt.failed);
  const OutlierTrips& eject_on = settings().eject_on;
  if (eject_on.latency && attempt.latency.has_value()) record.tally.Time(*attempt.latency);
  if (!attempt.failed) {
    if (record.errors_in_row.load(std::memory_order_relaxed) != 0) {
      record.errors_in_row.store(0, std::memory_order_relaxed);
    }
    return;
  }
  const int in_row = record.errors_in_row.fetch_add(1, std::memory_order_relaxed) + 1;
  if (eject_on.consecutive_errors && in_row >= settings().consecutive_errors.threshold) {
    watch_->OnConsecutiveErrors(record, now, random);
  }
  if (eject_on.error_rate && !record.rate_judged.load(std::memory_order_relaxed)) {
    const ErrorRateRule& rule = settings().error_rate;
    const IntervalCalls calls = record.tally.Look();
    if (calls.calls >= rule.request_volume &&
        100.0 * static_cast<double>(calls.failures) >=
            rule.threshold * static_cast<double>(calls.calls)) {
      watch_->OnErrorRate(record, now, random);
    }
  }
}

void Ejections::OnOvertaken(const LiveInstance* instance, MonotonicTime started_at,
                            MonotonicTime now) const {
  if (!settings().eject_on.latency) return;
  const auto found = records_.find(instance);
  if (found == records_.end()) return;
  OutlierWatch::Record& record = *found->second;
  if (started_at.nanos() < record.counts_from_nanos.load(std::memory_order_relaxed)) return;
  record.tally.Time(now - started_at);
}

}  // namespace marpc
