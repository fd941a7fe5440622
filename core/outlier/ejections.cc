#include "marpc/outlier/ejections.h"

namespace marpc {
namespace {

using Record = OutlierWatch::Record;

// Where an attempt of that instance counts; null where it does not: while the instance is ejected,
// and of attempts that began before it was let in again.
Record* Counting(const OutlierWatch::RecordMap& records, const LiveInstance* instance,
                 MonotonicTime started_at) {
  const auto found = records.find(instance);
  if (found == records.end()) return nullptr;
  Record& record = *found->second;
  const bool counts =
      started_at.nanos() >= record.counts_from_nanos.load(std::memory_order_relaxed);
  return counts ? &record : nullptr;
}

}  // namespace

void Ejections::OnAttempt(const LiveInstance* instance, const Attempt& attempt, MonotonicTime now,
                          RandomSource& random) const {
  Record* const counting = Counting(records_, instance, attempt.started_at);
  if (counting == nullptr) return;
  Record& record = *counting;
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
  Record* const record = Counting(records_, instance, started_at);
  if (record != nullptr) record->tally.Time(now - started_at);
}

}  // namespace marpc
