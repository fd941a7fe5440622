#include "marpc/outlier/outlier_watch.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "marpc/outlier/outlier_detector.h"

namespace marpc {
namespace {

constexpr size_t kEventsKept = 100;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

}  // namespace

OutlierWatch::OutlierWatch(const OutlierSettings& settings, MonotonicTime start,
                           OutlierListeners listeners)
    : settings_(settings),
      listeners_(std::make_unique<const OutlierListeners>(std::move(listeners))),
      next_tick_nanos_((start + settings.interval).nanos()),
      policy_(settings) {}

OutlierWatch::~OutlierWatch() = default;

template <typename Change>
void OutlierWatch::RunLocked(Change change) {
  change();
  if (!telling_) {  // by another thread, or further up in this one
    telling_ = true;
    while (!untold_.empty()) {
      const std::vector<EjectionEvent> told = std::exchange(untold_, {});
      mutex_.unlock();
      if (listeners_->on_event != nullptr) {
        for (const EjectionEvent& event : told) listeners_->on_event(event);
      }
      mutex_.lock();
    }
    telling_ = false;
  }
  mutex_.unlock();
}

void OutlierWatch::Tick(MonotonicTime now, RandomSource& random) {
  if (!mutex_.try_lock()) return;
  RunLocked([&] { TickLocked(now, random); });
}

void OutlierWatch::TickLocked(MonotonicTime now, RandomSource& random) {
  const MonotonicTime tick = next_tick();
  if (now < tick) return;  // another thread was quicker
  const int64_t ticks = (now - tick) / settings_.interval + 1;
  next_tick_nanos_.store((tick + ticks * settings_.interval).nanos(), std::memory_order_relaxed);
  std::vector<OutlierPolicy::Host*> hosts;
  hosts.reserve(records_.size());
  for (const std::shared_ptr<Record>& record : records_) {
    record->host.calls = record->tally.Take();
    record->rate_judged.store(false, std::memory_order_relaxed);
    hosts.push_back(&record->host);
  }
  policy_.Judge(hosts, tick, random);
  for (const std::shared_ptr<Record>& record : records_) {
    const bool was_ejected = record->ejected.load(std::memory_order_relaxed);
    if (record->host.ejection.ejected && !was_ejected) OnEjected(*record);
    const auto ended = policy_.Pass(record->host, tick, ticks);
    if (ended.has_value()) OnBack(*record, *ended, now);
  }
}

void OutlierWatch::OnConsecutiveErrors(Record& record, MonotonicTime now, RandomSource& random) {
  if (!mutex_.try_lock()) return;  // the next error says it again
  RunLocked([&] {
    TickLocked(now, random);
    // Spared, it is found again after as many errors.
    record.errors_in_row.store(0, std::memory_order_relaxed);
    EjectLocked(record, EjectionReason::kConsecutiveErrors, now, random);
  });
}

void OutlierWatch::OnErrorRate(Record& record, MonotonicTime now, RandomSource& random) {
  if (!mutex_.try_lock()) return;  // the next error says it again
  RunLocked([&] {
    TickLocked(now, random);
    if (record.rate_judged.exchange(true, std::memory_order_relaxed)) return;
    EjectLocked(record, EjectionReason::kErrorRate, now, random);
  });
}

void OutlierWatch::EjectLocked(Record& record, EjectionReason reason, MonotonicTime now,
                               RandomSource& random) {
  if (!record.listed || record.host.ejection.ejected) return;
  const auto verdict =
      policy_.Eject(record.host, reason, ejected(), static_cast<int>(records_.size()), now, random);
  if (verdict == OutlierPolicy::Verdict::kEjected) OnEjected(record);
}

void OutlierWatch::OnEjected(Record& record) {
  record.counts_from_nanos.store(kNever, std::memory_order_relaxed);
  record.ejected.store(true, std::memory_order_relaxed);
  record.errors_in_row.store(0, std::memory_order_relaxed);
  record.tally.Take();
  ejected_.fetch_add(1, std::memory_order_relaxed);
  Tell(record, record.host.ejection.since);
}

void OutlierWatch::OnBack(Record& record, MonotonicTime due, MonotonicTime now) {
  StartOver(record, now);
  if (listeners_->on_back != nullptr) listeners_->on_back(*record.instance, now);
  record.ejected.store(false, std::memory_order_relaxed);
  ejected_.fetch_sub(1, std::memory_order_relaxed);
  Tell(record, due);
}

void OutlierWatch::StartOver(Record& record, MonotonicTime now) {
  record.tally.Take();
  record.errors_in_row.store(0, std::memory_order_relaxed);
  record.rate_judged.store(false, std::memory_order_relaxed);
  record.counts_from_nanos.store(now.nanos(), std::memory_order_relaxed);
}

void OutlierWatch::Tell(const Record& record, MonotonicTime at) {
  const Ejection& ejection = record.host.ejection;
  EjectionEvent event{record.instance->endpoint().ToString(),
                      ejection.ejected,
                      ejection.reason,
                      at,
                      ejection.until,
                      ejection.multiplier};
  events_.push_back(event);
  if (events_.size() > kEventsKept) events_.pop_front();
  untold_.push_back(std::move(event));
}

void OutlierWatch::SetRecords(std::vector<std::shared_ptr<Record>> records, MonotonicTime now) {
  PlainMutexLock lock(&mutex_);
  for (const auto& record : records_) record->listed = false;
  for (const auto& record : records) record->listed = true;
  for (const auto& record : records_) {
    if (!record->listed && record->ejected.load(std::memory_order_relaxed)) {
      ejected_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  records_ = std::move(records);
  if (records_.size() != 1 || !records_[0]->host.ejection.ejected) return;
  // Nobody is left to take its calls.
  records_[0]->host.ejection.ejected = false;
  OnBack(*records_[0], now, now);
}

void OutlierWatch::Announce() {
  mutex_.lock();
  RunLocked([] {});
}

OutlierWatch::RecordMap OutlierWatch::Records() const {
  PlainMutexLock lock(&mutex_);
  RecordMap map;
  for (const std::shared_ptr<Record>& record : records_) map[record->instance.get()] = record;
  return map;
}

void OutlierWatch::Forget(absl::Span<const LiveInstance* const> instances, MonotonicTime now) {
  const absl::flat_hash_set<const LiveInstance*> meant(instances.begin(), instances.end());
  PlainMutexLock lock(&mutex_);
  for (const std::shared_ptr<Record>& record : records_) {
    if (!meant.contains(record->instance.get())) continue;
    Ejection& ejection = record->host.ejection;
    ejection.multiplier = 0;
    if (std::exchange(ejection.ejected, false)) {
      OnBack(*record, now, now);
    } else {
      StartOver(*record, now);
    }
  }
}

OutlierSnapshot OutlierWatch::GetSnapshot(MonotonicTime now, RandomSource& random) {
  OutlierSnapshot snapshot;
  mutex_.lock();
  RunLocked([&] {
    TickLocked(now, random);
    for (const std::shared_ptr<Record>& record : records_) {
      snapshot.instances.push_back({record->instance->endpoint().ToString(), record->host.ejection,
                                    record->tally.Look(),
                                    record->errors_in_row.load(std::memory_order_relaxed)});
    }
    snapshot.ejected = ejected();
    snapshot.panic = PanicsWith(ejected(), static_cast<int>(records_.size()));
    snapshot.counters = policy_.counters();
    snapshot.success_rates = policy_.success_rates();
    snapshot.next_look = next_tick();
    snapshot.events.assign(events_.begin(), events_.end());
  });
  return snapshot;
}

}  // namespace marpc
