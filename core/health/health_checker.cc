#include "marpc/health/health_checker.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace marpc {
namespace {

constexpr size_t kEventsKept = 100;
constexpr double kJitter = 0.1;

}  // namespace

HealthChecker::HealthChecker(const HealthCheckSettings& settings, std::string service,
                             HealthEnvironment environment, HealthListeners listeners)
    : settings_(settings),
      question_{settings.service.value_or(std::move(service)), settings.timeout},
      environment_(std::move(environment)),
      listeners_(std::move(listeners)) {}

double HealthChecker::Uniform() {
  return (environment_.random != nullptr ? *environment_.random : RandomSource::OfThisThread())
      .Uniform();
}

MonotonicTime HealthChecker::FirstCheck(MonotonicTime now) {
  return now + settings_.interval * (kJitter * Uniform());
}

MonotonicTime HealthChecker::NextCheck(MonotonicTime now) {
  return now + settings_.interval * (1 + kJitter * (2 * Uniform() - 1));
}

std::shared_ptr<const HealthGate> HealthChecker::ForInstances(
    absl::Span<const std::shared_ptr<LiveInstance>> instances) {
  const MonotonicTime now = environment_.clock->Now();
  PlainMutexLock lock(&mutex_);
  absl::flat_hash_map<const LiveInstance*, std::shared_ptr<Record>> known;
  for (const std::shared_ptr<Record>& record : records_) {
    record->listed = false;
    known[record->instance.get()] = record;
  }
  std::vector<std::shared_ptr<Record>> records;
  records.reserve(instances.size());
  for (const std::shared_ptr<LiveInstance>& instance : instances) {
    std::shared_ptr<Record>& record = known[instance.get()];
    if (record == nullptr) {
      record = std::make_shared<Record>();
      record->instance = instance;
      record->health.since = now;
      CheckAt(record, FirstCheck(now));
    }
    record->listed = true;
    records.push_back(record);
  }
  for (const std::shared_ptr<Record>& record : records_) {
    if (record->listed || record->health.healthy) continue;
    // Should it be listed again, it begins anew.
    record->instance->set_unhealthy(false);
    unhealthy_->fetch_sub(1, std::memory_order_relaxed);
  }
  records_ = std::move(records);
  return std::make_shared<const HealthGate>(unhealthy_);
}

void HealthChecker::CheckAt(const std::shared_ptr<Record>& record, MonotonicTime when) {
  record->due = when;
  // An instance that leaves meanwhile is not kept for it.
  environment_.run_at(when, [weak = weak_from_this(), of = std::weak_ptr(record), when] {
    const auto self = weak.lock();
    const auto one = of.lock();
    if (self != nullptr && one != nullptr) self->OnDue(one, when);
  });
}

void HealthChecker::OnDue(const std::shared_ptr<Record>& record, MonotonicTime due) {
  int life = 0;
  {
    PlainMutexLock lock(&mutex_);
    if (!record->listed || record->under_way || record->due != due) return;
    record->under_way = true;
    life = record->life;
  }
  environment_.probe->Check(record->instance, question_,
                            // The probe outlives what it has begun.
                            [weak = weak_from_this(), probe = environment_.probe, record,
                             life](const HealthProbe::Result& result) {
                              if (const auto self = weak.lock())
                                self->OnResult(record, life, result);
                            });
}

void HealthChecker::OnResult(const std::shared_ptr<Record>& record, int life,
                             const HealthProbe::Result& result) {
  const MonotonicTime now = environment_.clock->Now();
  bool not_supported = false;
  {
    PlainMutexLock lock(&mutex_);
    record->under_way = false;
    if (!record->listed) return;
    const bool counts = life == record->life && result.answer != HealthAnswer::kNone;
    if (counts) {
      ++checks_;
      if (OnChecked(record->health, result, settings_, now)) OnChange(*record, now);
      not_supported =
          result.answer == HealthAnswer::kNotSupported && !std::exchange(not_supported_told_, true);
    }
    CheckAt(record, life == record->life ? NextCheck(now) : FirstCheck(now));
  }
  if (not_supported && listeners_.on_not_supported != nullptr) {
    listeners_.on_not_supported(record->instance->endpoint().ToString(), result.status);
  }
  Announce();
}

void HealthChecker::OnChange(Record& record, MonotonicTime now) {
  const InstanceHealth& health = record.health;
  if (health.healthy && listeners_.on_back != nullptr) listeners_.on_back(*record.instance, now);
  record.instance->set_unhealthy(!health.healthy);
  unhealthy_->fetch_add(health.healthy ? -1 : 1, std::memory_order_relaxed);
  HealthEvent event{record.instance->endpoint().ToString(),
                    health.healthy,
                    health.answer,
                    health.status,
                    health.failures_in_row,
                    now};
  events_.push_back(event);
  if (events_.size() > kEventsKept) events_.pop_front();
  untold_.push_back(std::move(event));
}

void HealthChecker::OnNewLives(absl::Span<LiveInstance* const> instances) {
  const absl::flat_hash_set<const LiveInstance*> anew(instances.begin(), instances.end());
  const MonotonicTime now = environment_.clock->Now();
  PlainMutexLock lock(&mutex_);
  for (const std::shared_ptr<Record>& record : records_) {
    if (!anew.contains(record->instance.get())) continue;
    const bool healthy = std::exchange(record->health, {}).healthy;
    record->health.since = now;
    ++record->life;
    if (!healthy) OnChange(*record, now);
    // One that is under way is followed by another as soon.
    if (!record->under_way) CheckAt(record, FirstCheck(now));
  }
}

void HealthChecker::Announce() {
  PlainMutexLock lock(&mutex_);
  if (telling_) return;  // by another thread, or further up in this one
  telling_ = true;
  while (!untold_.empty()) {
    const std::vector<HealthEvent> told = std::exchange(untold_, {});
    mutex_.unlock();
    if (listeners_.on_event != nullptr) {
      for (const HealthEvent& event : told) listeners_.on_event(event);
    }
    mutex_.lock();
  }
  telling_ = false;
}

HealthSnapshot HealthChecker::GetSnapshot() const {
  HealthSnapshot snapshot;
  PlainMutexLock lock(&mutex_);
  for (const std::shared_ptr<Record>& record : records_) {
    snapshot.instances.push_back({record->instance->endpoint().ToString(), record->health});
  }
  snapshot.unhealthy = unhealthy_->load(std::memory_order_relaxed);
  snapshot.checks = checks_;
  snapshot.events.assign(events_.begin(), events_.end());
  return snapshot;
}

}  // namespace marpc
