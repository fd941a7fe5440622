// The area backoff: every family's waits by marpc's Backoff. The families differ in names, in where
// they count attempts from, in which way a draw points and in whether they cut to whole ms. Those
// of Java are in backoff_java.cc.
#include "marpc/retry/backoff.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/vectors/backoff_events.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

using Strategy = BackoffStrategy;

// Huly's three: whole ms, halves up, where the session rounds.
Json RunHuly(const VectorCase& vector, const BackoffSettings& settings) {
  const std::string round = vector.config.value("round", "");
  if (!round.empty() && round != "nearest") {
    throw Unmapped(absl::StrCat("the rounding '", round, "' is not mapped"));
  }
  return EachWait(vector, [&](int attempt, double draw) {
    const absl::Duration wait = DelayOf(settings, attempt, draw);
    return round.empty() ? wait : Truncated(wait + kMs / 2);
  });
}

// Polly counts from 0, moves by a quarter, and cuts at the end.
Json RunPolly(const VectorCase& vector, Strategy strategy) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "baseMs", "maxMs", "jitter"});
  BackoffSettings settings = Exact(strategy);
  settings.initial = Milliseconds(config.at("baseMs"));
  settings.max = kLongestInDotNet;
  if (config.value("jitter", false)) settings.jitter = 0.25;
  if (strategy == Strategy::kExponential && settings.jitter > 0 &&
      settings.initial > absl::ZeroDuration()) {
    throw Unmapped("Polly's own formula of exponential jitter is not mapped");
  }
  const absl::Duration max =
      config.contains("maxMs") ? Milliseconds(config["maxMs"]) : kLongestInDotNet;
  return EachWait(vector, [&](int attempt, double draw) {
    return std::min(DelayOf(settings, attempt + 1, draw), max);
  });
}

}  // namespace

Json RunNoBackoff(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  return EachWait(vector, [settings = Exact(Strategy::kNone)](int attempt, double draw) {
    return DelayOf(settings, attempt, draw);
  });
}

Json RunExponential(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "initialDelayMs", "maxDelayMs", "backoffFactor", "jitter", "round"});
  BackoffSettings settings = Exact(Strategy::kExponential);
  settings.initial = Milliseconds(config.value("initialDelayMs", Json(1000)));
  settings.max = Milliseconds(config.value("maxDelayMs", Json(30000)));
  settings.factor = config.value("backoffFactor", 1.5);
  settings.jitter = config.value("jitter", 0.0);
  return RunHuly(vector, settings);
}

Json RunFixed(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "delayMs", "jitter", "round"});
  BackoffSettings settings = Exact(Strategy::kFixed);
  settings.initial = Milliseconds(config.at("delayMs"));
  settings.jitter = config.value("jitter", 0.0);
  return RunHuly(vector, settings);
}

Json RunFibonacci(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "baseDelayMs", "maxDelayMs", "jitter", "round"});
  BackoffSettings settings = Exact(Strategy::kFibonacci);
  settings.initial = Milliseconds(config.at("baseDelayMs"));
  settings.max = Milliseconds(config.at("maxDelayMs"));
  settings.jitter = config.value("jitter", 0.0);
  return RunHuly(vector, settings);
}

Json RunDelayList(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind", "delaysMs"});
  BackoffSettings settings = Exact(Strategy::kList);
  for (const Json& delay : vector.config.at("delaysMs")) {
    settings.delays.push_back(Milliseconds(delay));
  }
  return EachWait(vector,
                  [&](int attempt, double draw) { return DelayOf(settings, attempt, draw); });
}

Json RunUniform(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "minMs", "maxMs"});
  BackoffSettings settings = Exact(Strategy::kUniform);
  settings.min = std::max(Milliseconds(config.value("minMs", Json(500))), kMs);
  settings.max = std::max(Milliseconds(config.value("maxMs", Json(1500))), settings.min);
  return EachWait(vector, [&](int attempt, double draw) {
    return Truncated(DelayOf(settings, attempt, BelowOne(draw)));
  });
}

Json RunHyperfFlat(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind", "baseMs"});
  BackoffSettings settings = Exact(Strategy::kFixed);
  settings.initial = Milliseconds(vector.config.at("baseMs"));
  return EachWait(vector,
                  [&](int attempt, double draw) { return DelayOf(settings, attempt, draw); });
}

// An event's nextRand is what chance gives for the wait after it: a number of ms, "min" or "max".
Json RunHyperfBackoff(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "baseMs", "capMs"});
  BackoffSettings settings = Exact(Strategy::kDecorrelated);
  settings.initial = Milliseconds(config.at("baseMs"));
  settings.max = Milliseconds(config.value("capMs", Json(60000)));
  BackoffMemory memory;
  Json drawn = "min";
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"attempt", "nextRand"});
    const absl::Duration range = 3 * memory.previous - settings.initial;
    double draw = drawn == "max" ? 1 : 0;
    if (drawn.is_number() && range > absl::ZeroDuration()) {
      draw = absl::FDivDuration(Milliseconds(drawn) - settings.initial, range);
    }
    OneDraw random(draw);
    const absl::Duration wait =
        BackoffDelay(settings, event.at("attempt").get<int>(), random, memory);
    got.push_back(Ms(Truncated(wait + kMs / 2)));
    drawn = event.value("nextRand", Json("min"));
  }
  return got;
}

Json RunHyperfBackoffValidation(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind", "capMs"});
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"baseMs"});
    BackoffSettings settings = Exact(Strategy::kDecorrelated);
    settings.initial = Milliseconds(event.at("baseMs"));
    settings.max = Milliseconds(vector.config.value("capMs", Json(60000)));
    got.push_back(Validity(ValidateBackoff(settings).ok()));
  }
  return got;
}

Json RunFailsafeJitter(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "delayMs", "jitterMs"});
  const absl::Duration delay = Milliseconds(config.at("delayMs"));
  const absl::Duration jitter = Milliseconds(config.at("jitterMs"));
  BackoffSettings settings = Exact(Strategy::kUniform);
  settings.min = delay - jitter;
  settings.max = delay + jitter;
  // A high draw is a short wait.
  return EachWait(vector, [&](int attempt, double draw) {
    return Truncated(DelayOf(settings, attempt, 1 - draw));
  });
}

Json RunFailsafeJitterFactor(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "delayMs", "factor"});
  BackoffSettings settings = Exact(Strategy::kFixed);
  settings.initial = Milliseconds(config.at("delayMs"));
  settings.jitter = config.at("factor").get<double>();
  return EachWait(vector, [&](int attempt, double draw) {
    return Truncated(DelayOf(settings, attempt, 1 - draw));
  });
}

Json RunFailsafeRange(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "minMs", "maxMs"});
  BackoffSettings settings = Exact(Strategy::kUniform);
  settings.min = Milliseconds(config.at("minMs"));
  settings.max = Milliseconds(config.at("maxMs"));
  return EachWait(vector, [&](int attempt, double draw) {
    return Truncated(DelayOf(settings, attempt, draw));
  });
}

Json RunGrpcBackoff(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "initialBackoffMs", "maxBackoffMs", "backoffMultiplier", "jitter"});
  BackoffSettings settings = Exact(Strategy::kExponential);
  settings.initial = Milliseconds(config.at("initialBackoffMs"));
  settings.max = Milliseconds(config.at("maxBackoffMs"));
  settings.factor = config.at("backoffMultiplier").get<double>();
  settings.jitter = config.value("jitter", 0.2);
  settings.jitter_may_exceed_max = true;
  return EachWait(vector,
                  [&](int attempt, double draw) { return DelayOf(settings, attempt, draw); });
}

Json RunPollyConstant(const VectorCase& vector) { return RunPolly(vector, Strategy::kFixed); }
Json RunPollyLinear(const VectorCase& vector) { return RunPolly(vector, Strategy::kLinear); }
Json RunPollyExponential(const VectorCase& vector) {
  return RunPolly(vector, Strategy::kExponential);
}

}  // namespace marpc::vectors
