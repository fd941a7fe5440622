#include "marpc/outlier/outlier_policy.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace marpc {

// The hosts of one interval, and how many of them are ejected by now.
struct OutlierPolicy::Round {
  absl::Span<Host* const> hosts;
  MonotonicTime tick;
  RandomSource& random;
  int ejected = 0;

  int total() const { return static_cast<int>(hosts.size()); }
};

bool OutlierPolicy::LimitReached(int ejected, int total) const {
  return total <= 1 || int64_t{100} * ejected >= int64_t{settings_.max_ejection_percent} * total;
}

int OutlierPolicy::EnforcementPercent(EjectionReason reason) const {
  switch (reason) {
    case EjectionReason::kConsecutiveErrors:
      return settings_.consecutive_errors.enforcement_percent;
    case EjectionReason::kErrorRate:
      return settings_.error_rate.enforcement_percent;
    case EjectionReason::kSuccessRate:
      return settings_.success_rate.enforcement_percent;
    case EjectionReason::kFailurePercentage:
      return settings_.failure_percentage.enforcement_percent;
    case EjectionReason::kLatency:
      return settings_.latency.enforcement_percent;
    case EjectionReason::kNone:
      break;
  }
  return 0;
}

absl::Duration OutlierPolicy::EjectionTime(int multiplier) const {
  const absl::Duration longest =
      std::max(settings_.base_ejection_time, settings_.max_ejection_time);
  return std::min(settings_.base_ejection_time * multiplier, longest);
}

OutlierPolicy::Verdict OutlierPolicy::Eject(Host& host, EjectionReason reason, int ejected,
                                            int total, MonotonicTime now, RandomSource& random) {
  if (LimitReached(ejected, total)) {
    ++counters_.spared_by_limit;
    return Verdict::kSparedByLimit;
  }
  if (static_cast<int>(random.Below(100)) >= EnforcementPercent(reason)) {
    ++counters_.spared_by_chance;
    return Verdict::kSparedByChance;
  }
  Ejection& ejection = host.ejection;
  ejection.ejected = true;
  ejection.reason = reason;
  ejection.since = now;
  ++ejection.multiplier;
  ejection.until = now + EjectionTime(ejection.multiplier);
  ++counters_.ejections[static_cast<size_t>(reason)];
  return Verdict::kEjected;
}

void OutlierPolicy::Judge(absl::Span<Host* const> hosts, MonotonicTime tick, RandomSource& random) {
  Round round{hosts, tick, random};
  round.ejected = static_cast<int>(std::count_if(
      hosts.begin(), hosts.end(), [](const Host* host) { return host->ejection.ejected; }));
  if (settings_.eject_on.success_rate) JudgeSuccessRates(round);
  if (settings_.eject_on.failure_percentage) JudgeFailurePercentages(round);
  if (settings_.eject_on.latency) JudgeLatencies(round);
}

void OutlierPolicy::EjectFound(Round& round, Host& host, EjectionReason reason) {
  const Verdict verdict =
      Eject(host, reason, round.ejected, round.total(), round.tick, round.random);
  if (verdict == Verdict::kEjected) ++round.ejected;
}

namespace {

double SuccessRateOf(const IntervalCalls& calls) {
  return static_cast<double>(calls.calls - calls.failures) / static_cast<double>(calls.calls);
}

double MeanLatencyOf(const IntervalCalls& calls) {
  return absl::ToDoubleSeconds(calls.latency) / static_cast<double>(calls.timed);
}

// The median of a sorted list but for the value at `without`.
double MedianWithout(const std::vector<double>& sorted, size_t without) {
  const size_t left = sorted.size() - 1;
  const auto at = [&](size_t i) { return sorted[i < without ? i : i + 1]; };
  return left % 2 == 1 ? at(left / 2) : (at(left / 2 - 1) + at(left / 2)) / 2;
}

}  // namespace

void OutlierPolicy::JudgeSuccessRates(Round& round) {
  const SuccessRateRule& rule = settings_.success_rate;
  std::vector<Host*> judged;
  for (Host* host : round.hosts) {
    if (host->calls.calls >= rule.request_volume) judged.push_back(host);
  }
  success_rates_ = {};
  if (judged.empty() || static_cast<int>(judged.size()) < rule.minimum_hosts) return;
  const double n = static_cast<double>(judged.size());
  double sum = 0;
  for (const Host* host : judged) sum += SuccessRateOf(host->calls);
  const double mean = sum / n;
  double squares = 0;
  for (const Host* host : judged) {
    squares += (SuccessRateOf(host->calls) - mean) * (SuccessRateOf(host->calls) - mean);
  }
  const double stdev = std::sqrt(squares / n);
  // Hosts that do alike are not told apart by the rounding of their mean.
  constexpr double kRounding = 1e-9;
  success_rates_ = {static_cast<int>(judged.size()), mean, stdev,
                    mean - stdev * rule.stdev_factor / 1000};
  for (Host* host : judged) {
    if (host->ejection.ejected) continue;
    if (SuccessRateOf(host->calls) >= success_rates_.threshold - kRounding) continue;
    EjectFound(round, *host, EjectionReason::kSuccessRate);
  }
}

void OutlierPolicy::JudgeFailurePercentages(Round& round) {
  const FailurePercentageRule& rule = settings_.failure_percentage;
  std::vector<Host*> judged;
  for (Host* host : round.hosts) {
    if (host->calls.calls >= rule.request_volume) judged.push_back(host);
  }
  if (static_cast<int>(judged.size()) < rule.minimum_hosts) return;
  for (Host* host : judged) {
    const IntervalCalls& calls = host->calls;
    if (host->ejection.ejected || 100.0 * static_cast<double>(calls.failures) <=
                                      rule.threshold * static_cast<double>(calls.calls)) {
      continue;
    }
    EjectFound(round, *host, EjectionReason::kFailurePercentage);
  }
}

void OutlierPolicy::JudgeLatencies(Round& round) {
  const LatencyRule& rule = settings_.latency;
  std::vector<std::pair<double, Host*>> judged;
  for (Host* host : round.hosts) {
    if (host->calls.timed < rule.request_volume) continue;
    judged.emplace_back(MeanLatencyOf(host->calls), host);
  }
  if (judged.size() < 2 || static_cast<int>(judged.size()) < rule.minimum_hosts) return;
  std::stable_sort(judged.begin(), judged.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<double> sorted;
  for (const auto& [mean, host] : judged) sorted.push_back(mean);
  // The slowest first, since the limit may end it.
  for (size_t i = judged.size(); i-- > 0;) {
    Host& host = *judged[i].second;
    const double median = MedianWithout(sorted, i);
    const double excess = absl::ToDoubleSeconds(rule.minimum_excess);
    if (sorted[i] < median * rule.factor || sorted[i] < median + excess) return;
    if (sorted[i] <= median || host.ejection.ejected) continue;
    EjectFound(round, host, EjectionReason::kLatency);
  }
}

std::optional<MonotonicTime> OutlierPolicy::Pass(Host& host, MonotonicTime first,
                                                 int64_t count) const {
  Ejection& ejection = host.ejection;
  std::optional<MonotonicTime> ended;
  if (ejection.ejected) {
    // The first tick after `until` ends it; further ones run off the multiplier.
    const int64_t held =
        ejection.until < first ? 0 : (ejection.until - first) / settings_.interval + 1;
    if (held >= count) return std::nullopt;
    ejection.ejected = false;
    ended = first + held * settings_.interval;
    count -= held + 1;
  }
  ejection.multiplier = static_cast<int>(std::max<int64_t>(0, ejection.multiplier - count));
  return ended;
}

absl::Status OutlierPolicy::Validate(const OutlierSettings& settings) {
  const auto check = [](bool good, absl::string_view what) {
    return good ? absl::OkStatus() : absl::InvalidArgumentError(what);
  };
  const auto percent = [](int value) { return value >= 0 && value <= 100; };
  const auto time = [](absl::Duration value) {
    return value > absl::ZeroDuration() && value < absl::InfiniteDuration();
  };
  const OutlierSettings& s = settings;
  absl::Status status;
  status.Update(check(time(s.interval), "outlier.interval must be above 0 and finite"));
  status.Update(
      check(time(s.base_ejection_time), "outlier.baseEjectionTime must be above 0 and finite"));
  status.Update(
      check(time(s.max_ejection_time), "outlier.maxEjectionTime must be above 0 and finite"));
  status.Update(
      check(percent(s.max_ejection_percent), "outlier.maxEjectionPercent must be from 0 to 100"));
  status.Update(check(percent(s.panic_threshold), "outlier.panicThreshold must be from 0 to 100"));
  status.Update(check(s.consecutive_errors.threshold >= 1,
                      "outlier.consecutiveErrors.threshold must be at least 1"));
  status.Update(check(s.error_rate.threshold > 0 && s.error_rate.threshold <= 100,
                      "outlier.errorRate.threshold must be above 0, up to 100"));
  status.Update(check(s.success_rate.stdev_factor >= 0,
                      "outlier.successRate.stdevFactor must not be negative"));
  status.Update(check(s.failure_percentage.threshold >= 0 && s.failure_percentage.threshold <= 100,
                      "outlier.failurePercentage.threshold must be from 0 to 100"));
  status.Update(check(s.latency.factor >= 1, "outlier.latency.factor must be at least 1"));
  status.Update(check(s.latency.minimum_excess >= absl::ZeroDuration(),
                      "outlier.latency.minimumExcess must not be negative"));
  status.Update(
      check(s.latency.minimum_hosts >= 2, "outlier.latency.minimumHosts must be at least 2"));
  for (const int volume : {s.error_rate.request_volume, s.success_rate.request_volume,
                           s.failure_percentage.request_volume, s.latency.request_volume}) {
    status.Update(check(volume >= 1, "outlier: a requestVolume must be at least 1"));
  }
  for (const int enforcement :
       {s.consecutive_errors.enforcement_percent, s.error_rate.enforcement_percent,
        s.success_rate.enforcement_percent, s.failure_percentage.enforcement_percent,
        s.latency.enforcement_percent}) {
    status.Update(
        check(percent(enforcement), "outlier: an enforcementPercent must be from 0 to 100"));
  }
  return status;
}

}  // namespace marpc
