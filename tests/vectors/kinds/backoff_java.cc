// The area backoff: Resilience4j's and Spring's, which count in whole ms.
#include <algorithm>

#include "marpc/retry/backoff.h"
#include "tests/vectors/backoff_events.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

using Strategy = BackoffStrategy;

// An interval of Java's long: each step is cut to whole ms, but where that would keep it from ever
// growing; there the exact power is.
absl::Duration Stepwise(BackoffSettings settings, int retry) {
  settings.strategy = Strategy::kExponential;
  settings.initial = DelayOf(settings, 1);
  if (Truncated(DelayOf(settings, 2)) == settings.initial) {
    return Truncated(DelayOf(settings, retry));
  }
  for (int step = 1; step < retry && settings.initial < settings.max; ++step) {
    settings.initial = Truncated(DelayOf(settings, 2));
  }
  return settings.initial;
}

BackoffSettings SpringExponential(const Json& config, Strategy strategy) {
  CheckKeys(config, "config", {"kind", "initialIntervalMs", "multiplier", "maxIntervalMs"});
  BackoffSettings settings = Exact(strategy);
  // Its setters raise what is too small.
  settings.initial = std::max(Milliseconds(config.value("initialIntervalMs", Json(100))), kMs);
  settings.max = std::max(Milliseconds(config.value("maxIntervalMs", Json(30000))), kMs);
  settings.factor = std::max(config.value("multiplier", 2.0), 1.0);
  return settings;
}

BackoffSettings R4jExponential(const Json& config) {
  BackoffSettings settings = Exact(Strategy::kExponential);
  settings.initial = Milliseconds(config.value("initialMs", Json(500)));
  settings.factor = config.value("multiplier", 1.5);
  return settings;
}

absl::Duration R4jMax(const Json& config) {
  return config.contains("maxMs") ? Milliseconds(config["maxMs"]) : kLongestInJava;
}

// [interval * (1 - factor), interval * (1 + factor) + 1 ms), cut to whole ms.
absl::Duration R4jRandomized(absl::Duration interval, double factor, double draw) {
  BackoffSettings settings = Exact(Strategy::kUniform);
  settings.min = interval - interval * factor;
  settings.max = interval + interval * factor + kMs;
  return Truncated(DelayOf(settings, 1, BelowOne(draw)));
}

// Which policy, and its numbers, in Spring's words.
Json InSpringsWords(const BackoffSettings& settings) {
  if (settings.strategy == Strategy::kFixed) {
    return {{"policy", "fixed"}, {"delayMs", Ms(settings.initial)}};
  }
  if (settings.strategy == Strategy::kUniform) {
    return {{"policy", "uniform"}, {"minMs", Ms(settings.min)}, {"maxMs", Ms(settings.max)}};
  }
  return {{"policy",
           settings.strategy == Strategy::kExponential ? "exponential" : "exponential_random"},
          {"initialMs", Ms(settings.initial)},
          {"multiplier", settings.factor},
          {"maxMs", Ms(settings.max)}};
}

BackoffSettings SelectedBySpring(const Json& attributes) {
  CheckKeys(attributes, "event", {"value", "delay", "maxDelay", "multiplier", "random"});
  const double given = attributes.value("delay", 0.0);
  const double delay = std::max(given == 0 ? attributes.value("value", 1000.0) : given, 1.0);
  const double max_delay = attributes.value("maxDelay", 0.0);
  const double multiplier = attributes.value("multiplier", 0.0);
  BackoffSettings settings = Exact(Strategy::kFixed);
  settings.initial = absl::Milliseconds(delay);
  if (multiplier > 0) {
    settings.strategy =
        attributes.value("random", false) ? Strategy::kExponentialRandom : Strategy::kExponential;
    settings.factor = std::max(multiplier, 1.0);
    settings.max = absl::Milliseconds(max_delay > delay ? max_delay : 30000);
  } else if (max_delay > delay) {
    settings.strategy = Strategy::kUniform;
    settings.min = absl::Milliseconds(delay);
    settings.max = absl::Milliseconds(max_delay);
  }
  return settings;
}

}  // namespace

Json RunR4jExponential(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind", "initialMs", "multiplier", "maxMs"});
  BackoffSettings settings = R4jExponential(vector.config);
  settings.max = R4jMax(vector.config);
  return EachWait(vector, [&](int attempt, double) { return Stepwise(settings, attempt); });
}

Json RunR4jExponentialRandom(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "initialMs", "multiplier", "factor", "maxMs"});
  const BackoffSettings settings = R4jExponential(config);
  return EachWait(vector, [&](int attempt, double draw) {
    return std::min(R4jRandomized(Stepwise(settings, attempt), config.value("factor", 0.5), draw),
                    R4jMax(config));
  });
}

Json RunR4jRandomized(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "intervalMs", "factor"});
  return EachWait(vector, [&](int, double draw) {
    return R4jRandomized(Milliseconds(config.value("intervalMs", Json(500))),
                         config.value("factor", 0.5), draw);
  });
}

// Where the source refuses 0, marpc takes it for no wait.
Json RunR4jBackoffValidation(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"intervalMs", "factor", "attempt", "multiplier", "maxMs"});
    BackoffSettings settings = R4jExponential(Json::object());
    settings.initial = Milliseconds(event.value("intervalMs", Json(500)));
    settings.jitter = event.value("factor", 0.5);
    settings.factor = event.value("multiplier", settings.factor);
    settings.max = R4jMax(event);
    got.push_back(Validity(ValidateBackoff(settings).ok() && settings.initial >= kMs &&
                           settings.max >= kMs && event.value("attempt", 1) >= 1));
  }
  return got;
}

Json RunSpringFixed(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind", "backOffPeriodMs"});
  BackoffSettings settings = Exact(Strategy::kFixed);
  settings.initial =
      std::max(Milliseconds(vector.config.value("backOffPeriodMs", Json(1000))), kMs);
  return EachWait(vector,
                  [&](int attempt, double draw) { return DelayOf(settings, attempt, draw); });
}

Json RunSpringExponential(const VectorCase& vector) {
  const BackoffSettings settings = SpringExponential(vector.config, Strategy::kExponential);
  return EachWait(vector, [&](int attempt, double) { return Stepwise(settings, attempt); });
}

Json RunSpringExponentialRandom(const VectorCase& vector) {
  BackoffSettings settings = SpringExponential(vector.config, Strategy::kExponentialRandom);
  return EachWait(vector, [&](int attempt, double draw) {
    BackoffSettings at_interval = settings;
    at_interval.initial = Stepwise(settings, attempt);
    return Truncated(DelayOf(at_interval, 1, draw));
  });
}

Json RunSpringBackoffSelection(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  Json got = Json::array();
  for (const Json& event : vector.input) {
    const BackoffSettings settings = SelectedBySpring(event);
    if (absl::Status status = ValidateBackoff(settings); !status.ok()) {
      throw Unmapped(status.ToString());
    }
    got.push_back(InSpringsWords(settings));
  }
  return got;
}

}  // namespace marpc::vectors
