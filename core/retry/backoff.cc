#include "marpc/retry/backoff.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

using Strategy = BackoffStrategy;

// Of fibonacci's row 1, 2, 3, 5, 8 ... the n-th, or one that is at least `enough`. The row passes
// every number after some 1,500 steps.
double Fibonacci(int n, double enough) {
  double before = 1;
  double current = 1;
  for (int i = 1; i < n && current < enough; ++i) {
    before = std::exchange(current, before + current);
  }
  return current;
}

// Without jitter and limit, in seconds. May be infinite; not a number for settings that are none.
double Unlimited(const BackoffSettings& settings, int retry, RandomSource& random,
                 const BackoffMemory& memory) {
  const double initial = absl::ToDoubleSeconds(settings.initial);
  const double max = absl::ToDoubleSeconds(settings.max);
  switch (settings.strategy) {
    case Strategy::kNone:
      return 0;
    case Strategy::kFixed:
      return initial;
    case Strategy::kLinear:
      return initial * retry;
    case Strategy::kExponential:
      return initial * std::pow(settings.factor, retry - 1);
    case Strategy::kExponentialRandom: {
      const double interval = std::min(initial * std::pow(settings.factor, retry - 1), max);
      return interval * (1 + random.Uniform() * (settings.factor - 1));
    }
    case Strategy::kFibonacci:
      return initial * Fibonacci(retry, max / initial);
    case Strategy::kUniform: {
      const double min = absl::ToDoubleSeconds(settings.min);
      return min + random.Uniform() * (max - min);
    }
    case Strategy::kDecorrelated: {
      if (retry == 1) return initial;
      const double most = 3 * absl::ToDoubleSeconds(memory.previous);
      return initial + random.Uniform() * std::max(most - initial, 0.0);
    }
    case Strategy::kList: {
      if (settings.delays.empty()) return 0;
      const size_t at = std::min<size_t>(retry, settings.delays.size()) - 1;
      return absl::ToDoubleSeconds(settings.delays[at]);
    }
  }
  return 0;
}

bool NeedsInitial(Strategy strategy) {
  return strategy != Strategy::kNone && strategy != Strategy::kUniform &&
         strategy != Strategy::kList;
}

bool DrawsItself(Strategy strategy) {
  return strategy == Strategy::kExponentialRandom || strategy == Strategy::kUniform ||
         strategy == Strategy::kDecorrelated;
}

// Exactly the limit where it is reached: as a double it may be another number.
absl::Duration Limited(double seconds, absl::Duration limit) {
  if (!(seconds > 0)) return absl::ZeroDuration();
  return seconds >= absl::ToDoubleSeconds(limit) ? limit : absl::Seconds(seconds);
}

absl::Status Invalid(absl::string_view what) { return absl::InvalidArgumentError(what); }

Backoff WithoutJitter(Strategy strategy, absl::Duration initial, absl::Duration max,
                      double factor = 2) {
  BackoffSettings settings;
  settings.strategy = strategy;
  settings.initial = initial;
  settings.max = max;
  settings.factor = factor;
  settings.jitter = 0;
  return Backoff(std::move(settings));
}

}  // namespace

absl::Duration BackoffDelay(const BackoffSettings& settings, int retry, RandomSource& random,
                            BackoffMemory& memory) {
  const Strategy strategy = settings.strategy;
  if (NeedsInitial(strategy) && settings.initial <= absl::ZeroDuration()) {
    return absl::ZeroDuration();
  }
  const absl::Duration max = strategy == Strategy::kList
                                 ? absl::InfiniteDuration()
                                 : std::max(settings.max, absl::ZeroDuration());
  const absl::Duration wait = Limited(Unlimited(settings, std::max(retry, 1), random, memory), max);
  memory.previous = wait;
  const double jitter = settings.jitter.value_or(DrawsItself(strategy) ? 0 : kDefaultBackoffJitter);
  if (jitter == 0 || wait == absl::ZeroDuration()) return wait;
  const double moved = absl::ToDoubleSeconds(wait) * (1 + jitter * (2 * random.Uniform() - 1));
  return Limited(moved, settings.jitter_may_exceed_max ? absl::InfiniteDuration() : max);
}

absl::Status ValidateBackoff(const BackoffSettings& settings) {
  const absl::Duration zero = absl::ZeroDuration();
  if (NeedsInitial(settings.strategy)) {
    if (settings.initial < zero) return Invalid("the backoff's initial wait is negative");
    if (settings.initial == absl::InfiniteDuration()) {
      return Invalid("the backoff's initial wait is infinite");
    }
    if (settings.max < settings.initial) {
      return Invalid(absl::StrCat("the backoff's longest wait (",
                                  absl::FormatDuration(settings.max), ") is below its first (",
                                  absl::FormatDuration(settings.initial), ")"));
    }
  }
  if (settings.strategy == Strategy::kUniform &&
      (settings.min < zero || settings.max < settings.min ||
       settings.max == absl::InfiniteDuration())) {
    return Invalid(absl::StrCat("a uniform backoff needs 0 <= min <= max, both finite, not ",
                                absl::FormatDuration(settings.min), " and ",
                                absl::FormatDuration(settings.max)));
  }
  const bool grows = settings.strategy == Strategy::kExponential ||
                     settings.strategy == Strategy::kExponentialRandom;
  if (grows && !(settings.factor > 0 && std::isfinite(settings.factor))) {
    return Invalid(absl::StrCat("the backoff's factor is above 0, not ", settings.factor));
  }
  const double jitter = settings.jitter.value_or(0);
  if (!(jitter >= 0 && jitter <= 1)) {
    return Invalid(absl::StrCat("the backoff's jitter is a fraction from 0 to 1, not ", jitter));
  }
  if (settings.strategy != Strategy::kList) return absl::OkStatus();
  if (settings.delays.empty()) return Invalid("a backoff by list needs at least one delay");
  for (const absl::Duration delay : settings.delays) {
    if (delay < zero || delay == absl::InfiniteDuration()) {
      return Invalid(absl::StrCat("a backoff's delay of ", absl::FormatDuration(delay),
                                  " cannot be waited for"));
    }
  }
  return absl::OkStatus();
}

Backoff Backoff::Fixed(absl::Duration delay) {
  return WithoutJitter(Strategy::kFixed, delay, absl::InfiniteDuration());
}

Backoff Backoff::Linear(absl::Duration initial, absl::Duration max) {
  return WithoutJitter(Strategy::kLinear, initial, max);
}

Backoff Backoff::Exponential(absl::Duration initial, absl::Duration max, double factor) {
  return WithoutJitter(Strategy::kExponential, initial, max, factor);
}

Backoff Backoff::ExponentialRandom(absl::Duration initial, absl::Duration max, double factor) {
  return WithoutJitter(Strategy::kExponentialRandom, initial, max, factor);
}

Backoff Backoff::Fibonacci(absl::Duration initial, absl::Duration max) {
  return WithoutJitter(Strategy::kFibonacci, initial, max);
}

Backoff Backoff::Uniform(absl::Duration min, absl::Duration max) {
  Backoff backoff = WithoutJitter(Strategy::kUniform, absl::ZeroDuration(), max);
  backoff.settings_.min = min;
  return backoff;
}

Backoff Backoff::Decorrelated(absl::Duration initial, absl::Duration max) {
  return WithoutJitter(Strategy::kDecorrelated, initial, max);
}

Backoff Backoff::List(std::vector<absl::Duration> delays) {
  Backoff backoff = WithoutJitter(Strategy::kList, absl::ZeroDuration(), absl::InfiniteDuration());
  backoff.settings_.delays = std::move(delays);
  return backoff;
}

}  // namespace marpc
