#include "marpc/retry/retry_budget.h"

#include <algorithm>

namespace marpc {

RetryBudget::RetryBudget(const RetryBudgetSettings& settings, MonotonicTime now)
    : settings_(settings),
      slot_nanos_(std::max<int64_t>(1, absl::ToInt64Nanoseconds(settings.ttl) / kSlots)),
      epoch_(now.nanos() / slot_nanos_) {}

RetryBudget::Slot& RetryBudget::Advance(MonotonicTime now) {
  const int64_t epoch = now.nanos() / slot_nanos_;
  if (epoch > epoch_.load(std::memory_order_acquire)) {
    absl::MutexLock lock(&mutex_);
    const int64_t last = epoch_.load(std::memory_order_relaxed);
    for (int64_t e = std::max(last + 1, epoch - kSlots + 1); e <= epoch; ++e) {
      slots_[e % kSlots].calls.store(0, std::memory_order_relaxed);
      slots_[e % kSlots].retries.store(0, std::memory_order_relaxed);
    }
    if (epoch > last) epoch_.store(epoch, std::memory_order_release);
  }
  return slots_[epoch % kSlots];
}

void RetryBudget::Deposit(MonotonicTime now) {
  Advance(now).calls.fetch_add(1, std::memory_order_relaxed);
}

double RetryBudget::BalanceLocked() const {
  int64_t calls = 0;
  int64_t retries = 0;
  for (const Slot& slot : slots_) {
    calls += slot.calls.load(std::memory_order_relaxed);
    retries += slot.retries.load(std::memory_order_relaxed);
  }
  const double floor = settings_.min_retries_per_sec * absl::ToDoubleSeconds(settings_.ttl);
  return static_cast<double>(calls) * settings_.percent_can_retry + floor -
         static_cast<double>(retries);
}

bool RetryBudget::TryWithdraw(MonotonicTime now) {
  Slot& slot = Advance(now);
  absl::MutexLock lock(&mutex_);
  if (BalanceLocked() < 1.0) return false;
  slot.retries.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void RetryBudget::GiveBack(MonotonicTime now) {
  Advance(now).retries.fetch_sub(1, std::memory_order_relaxed);
}

double RetryBudget::Balance(MonotonicTime now) {
  Advance(now);
  absl::MutexLock lock(&mutex_);
  return BalanceLocked();
}

}  // namespace marpc
