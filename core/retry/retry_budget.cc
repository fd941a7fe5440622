#include "marpc/retry/retry_budget.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kWithoutLimit = std::numeric_limits<int64_t>::max();
// 3 / 0.3 is 10, whatever a double makes of it.
constexpr double kRoundingError = 1e-9;
// Beyond it a share is none at all.
constexpr double kLeastShare = 1e-6;
// Retries: so few are no storm, and with few calls they come in such bunches.
constexpr int64_t kLeastSaved = 10;

int64_t TokensFor(double retries, const RetryBudgetSettings& settings) {
  const double share = std::max(settings.percent_can_retry, kLeastShare);
  return static_cast<int64_t>(std::ceil(retries / share - kRoundingError));
}

int64_t CapacityOf(const RetryBudgetSettings& settings) {
  if (settings.burst <= 0) return kWithoutLimit;
  const double tokens = settings.burst / std::max(settings.percent_can_retry, kLeastShare);
  // One retry fits in always.
  return std::max(static_cast<int64_t>(tokens + kRoundingError), TokensFor(1, settings));
}

}  // namespace

absl::Status RetryBudget::Validate(const RetryBudgetSettings& settings) {
  const double share = settings.percent_can_retry;
  if (!(share >= kLeastShare && share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("retry.budget.percentCanRetry is above 0 and at most 1, not ", share));
  }
  if (settings.min_retries_per_sec < 0 || settings.min_retries_per_sec > 1'000'000) {
    return absl::InvalidArgumentError(absl::StrCat(
        "retry.budget.minRetriesPerSec is from 0 to 1000000, not ", settings.min_retries_per_sec));
  }
  if (settings.initial < 0 || settings.initial > 1'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("retry.budget.initial is from 0 to 1000000, not ", settings.initial));
  }
  if (settings.burst < 0 || settings.burst > 1'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("retry.budget.burst is from 0 to 1000000, not ", settings.burst));
  }
  if (settings.ttl < absl::Seconds(1) || settings.ttl > absl::Hours(1)) {
    return absl::InvalidArgumentError(absl::StrCat("retry.budget.ttl is from 1s to 1h, not ",
                                                   absl::FormatDuration(settings.ttl)));
  }
  return absl::OkStatus();
}

RetryBudget::RetryBudget(const RetryBudgetSettings& settings, MonotonicTime now,
                         absl::Duration kept_for)
    : born_(now.nanos()),
      ttl_(absl::ToInt64Nanoseconds(settings.ttl)),
      kept_for_(absl::ToInt64Nanoseconds(std::min(kept_for, settings.ttl))),
      per_retry_(TokensFor(1, settings)),
      per_second_(TokensFor(settings.min_retries_per_sec, settings)),
      capacity_(CapacityOf(settings)),
      deposits_(ttl_) {
  PlainMutexLock lock(&mutex_);
  Add(0, TokensFor(settings.initial, settings));
}

std::optional<RetryBudget::Withdrawal> RetryBudget::TryWithdraw(MonotonicTime now) {
  PlainMutexLock lock(&mutex_);
  Advance(now);
  if (tokens_ < per_retry_) return std::nullopt;
  const Withdrawal withdrawal(bucket_.front().expires);
  TakeOldest(per_retry_);
  return withdrawal;
}

bool RetryBudget::CanWithdraw(MonotonicTime now) { return Balance(now) >= per_retry_; }

void RetryBudget::GiveBack(const Withdrawal& withdrawal, MonotonicTime now) {
  PlainMutexLock lock(&mutex_);
  // Other retries may have taken or given back since.
  const auto younger = std::find_if(bucket_.begin(), bucket_.end(), [&](const Batch& batch) {
    return batch.expires >= withdrawal.expires_;
  });
  bucket_.insert(younger, {withdrawal.expires_, per_retry_});
  tokens_ += per_retry_;
  Advance(now);
}

int64_t RetryBudget::Balance(MonotonicTime now) {
  PlainMutexLock lock(&mutex_);
  Advance(now);
  return tokens_;
}

// That the bucket never holds too much need not be seen to at every deposit: what is dropped is the
// oldest, and so is what expires, so that a look at the end of a while finds the same tokens.
void RetryBudget::Advance(MonotonicTime now) {
  const int64_t age = std::max<int64_t>(now.nanos() - born_, 0);
  deposits_.Drain(age, [this](int64_t stamp, int64_t deposits) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    AddSeconds(stamp);
    Add(stamp, deposits);
  });
  AddSeconds(age);
  while (!bucket_.empty() && bucket_.front().expires <= age) TakeOldest(bucket_.front().tokens);
  const int64_t saved = kLeastSaved * per_retry_;
  while (tokens_ > saved && bucket_.front().expires <= age + ttl_ - kept_for_) {
    TakeOldest(std::min(bucket_.front().tokens, tokens_ - saved));
  }
  if (tokens_ > capacity_) TakeOldest(tokens_ - capacity_);
}

void RetryBudget::AddSeconds(int64_t until) {
  // Those that have expired meanwhile are passed over.
  seconds_ = std::max(seconds_, (until - ttl_) / kSecond);
  while (per_second_ > 0 && (seconds_ + 1) * kSecond <= until) {
    Add(++seconds_ * kSecond, per_second_);
  }
}

void RetryBudget::Add(int64_t at, int64_t tokens) {
  if (tokens == 0) return;
  tokens_ += tokens;
  const int64_t expires = at + ttl_;
  if (!bucket_.empty() && bucket_.back().expires == expires) {
    bucket_.back().tokens += tokens;
  } else {
    bucket_.push_back({expires, tokens});
  }
}

void RetryBudget::TakeOldest(int64_t tokens) {
  tokens_ -= tokens;
  while (tokens > 0) {
    Batch& oldest = bucket_.front();
    const int64_t taken = std::min(tokens, oldest.tokens);
    tokens -= taken;
    oldest.tokens -= taken;
    if (oldest.tokens == 0) bucket_.pop_front();
  }
}

}  // namespace marpc
