// r4j, r4j_config_validate, polly, polly_should_break and failsafe (breaker): breakers that judge
// rates.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "marpc/circuitbreaker/call_counts.h"
#include "marpc/config/load.h"
#include "tests/vectors/breaker_rig.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"
#include "tests/vectors/retry_rig.h"

namespace marpc::vectors {
namespace {

// Where a wait is over strictly after it, in whole milliseconds.
constexpr absl::Duration kStrictly = absl::Nanoseconds(1);

Json Run(const VectorCase& vector, const BreakerRules& rules, const BreakerHabits& habits) {
  SimulatedClock clock;
  BreakerRig rig(clock, &rules, habits);
  Json got = Json::array();
  for (const Json& event : vector.input) got.push_back(rig.Apply(event));
  return got;
}

// A ratio of 0.07 is 7 percent, and not a little more.
double Percent(double ratio) { return std::round(ratio * 100 * 1e9) / 1e9; }

BreakerRules R4jRules(const Json& config) {
  CheckKeys(config, "config",
            {"kind", "slidingWindowType", "slidingWindowSize", "minimumNumberOfCalls",
             "failureRateThreshold", "slowCallRateThreshold", "slowCallDurationThresholdMs",
             "waitDurationInOpenStateMs", "permittedNumberOfCallsInHalfOpenState",
             "maxWaitDurationInHalfOpenStateMs", "automaticTransition", "ignoreExceptions",
             "recordExceptions", "transitionToStateAfterWaitDuration", "waitIntervalInOpen"});
  BreakerRules rules;
  rules.trip_on = {.fault_limit = false, .failure_rate = true, .slow_call_rate = true};
  rules.failure_rate = config.value("failureRateThreshold", 50.0);
  rules.slow_call_rate = config.value("slowCallRateThreshold", 100.0);
  rules.slow_call_duration = Milliseconds(config.value("slowCallDurationThresholdMs", Json(60000)));
  rules.minimum_calls = config.value("minimumNumberOfCalls", 100);
  const int size = config.value("slidingWindowSize", 100);
  if (config.value("slidingWindowType", "COUNT_BASED") == "TIME_BASED") {
    rules.rate_window_size = absl::Seconds(size);
    rules.rate_window_buckets = size;
  } else {
    rules.rate_window = RateWindowKind::kCalls;
    rules.rate_window_calls = size;
  }
  rules.half_open_probes = config.value("permittedNumberOfCallsInHalfOpenState", 10);
  rules.half_open_judged_by = HalfOpenJudge::kRate;
  rules.half_open_probe_timeout = absl::InfiniteDuration();
  rules.half_open_time_limit =
      Milliseconds(config.value("maxWaitDurationInHalfOpenStateMs", Json(0)));
  if (config.value("transitionToStateAfterWaitDuration", "OPEN") == "CLOSED") {
    rules.half_open_undecided = HalfOpenUndecided::kClosed;
  }
  const absl::Duration late =
      config.value("automaticTransition", false) ? absl::ZeroDuration() : kStrictly;
  rules.half_open_initial_delay = rules.half_open_delay =
      Milliseconds(config.value("waitDurationInOpenStateMs", Json(60000)));
  if (config.contains("waitIntervalInOpen")) {
    const Json& wait = config["waitIntervalInOpen"];
    CheckKeys(wait, "waitIntervalInOpen", {"initialMs", "multiplier", "maxMs"});
    rules.half_open_initial_delay = Milliseconds(wait.at("initialMs"));
    rules.half_open_delay_factor = wait.value("multiplier", 1.5);
    rules.half_open_delay = rules.half_open_initial_delay * rules.half_open_delay_factor;
    rules.half_open_max_delay =
        wait.contains("maxMs") ? Milliseconds(wait["maxMs"]) : absl::InfiniteDuration();
    rules.half_open_delay = std::min(rules.half_open_delay, rules.half_open_max_delay);
    rules.half_open_max_delay += late;
  }
  rules.half_open_initial_delay += late;
  rules.half_open_delay += late;
  return rules;
}

}  // namespace

Json RunR4jBreaker(const VectorCase& vector) {
  const Json& config = vector.config;
  BreakerHabits habits;
  habits.results_come_alone = true;
  habits.half_open_has_timer = true;
  habits.open_has_timer = config.value("automaticTransition", false);
  habits.durations_are_told = true;
  habits.judge = [ignored = config.value("ignoreExceptions", Json::array()),
                  recorded =
                      config.value("recordExceptions", Json::array())](const std::string& error) {
    if (IsAnyOf(NamedError(error, ""), ignored)) return BreakerVerdict::kNothing;
    if (recorded.empty() || IsAnyOf(NamedError(error, ""), recorded))
      return BreakerVerdict::kFailure;
    return BreakerVerdict::kSuccess;
  };
  return Run(vector, R4jRules(config), habits);
}

// By marpc's keys of the same meaning.
Json RunR4jBreakerValidation(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  static const auto& keys = *new std::map<std::string, std::string>{
      {"failureRateThreshold", "failureRate"},
      {"slowCallRateThreshold", "slowCallRate"},
      {"slidingWindowSize", "rateWindowCalls"},
      {"minimumNumberOfCalls", "minimumCalls"},
      {"permittedNumberOfCallsInHalfOpenState", "halfOpenProbes"},
      {"waitDurationInOpenStateMs", "halfOpenInitialDelay"},
      {"slowCallDurationThresholdMs", "slowCallDuration"},
      {"maxWaitDurationInHalfOpenStateMs", "halfOpenTimeLimit"}};
  Json got = Json::array();
  for (const Json& event : vector.input) {
    std::string yaml = "marpc:\n  circuitbreaker:\n    enabled: true\n";
    for (const auto& [name, value] : event.items()) {
      const auto key = keys.find(name);
      if (key == keys.end()) throw Unmapped(absl::StrCat("the key '", name, "' is not mapped"));
      absl::StrAppend(&yaml, "    ", key->second, ": ", value.dump(), "\n");
    }
    got.push_back(ParseSettings(yaml, "vector").ok() ? "ok" : "invalid");
  }
  return got;
}

Json RunPollyBreaker(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "failureRatio", "minimumThroughput", "samplingDurationMs", "breakDurationMs",
             "breakDurationByHalfOpenAttempts"});
  BreakerRules rules;
  rules.trip_on = {.fault_limit = false, .failure_rate = true};
  rules.failure_rate = Percent(config.value("failureRatio", 0.1));
  rules.minimum_calls = config.value("minimumThroughput", 100);
  rules.rate_window_size = Milliseconds(config.value("samplingDurationMs", Json(30000)));
  rules.rate_window_buckets = rules.rate_window_size < absl::Milliseconds(200) ? 1 : 10;
  rules.success_may_trip = false;
  rules.half_open_initial_delay = rules.half_open_delay =
      Milliseconds(config.value("breakDurationMs", Json(5000)));
  const Json waits = config.value("breakDurationByHalfOpenAttempts", Json::array());
  if (!waits.empty()) rules.half_open_initial_delay = Milliseconds(waits[0]);
  if (waits.size() > 1) rules.half_open_delay = Milliseconds(waits[1]);
  if (waits.size() > 2) {
    rules.half_open_delay_factor = waits[2].get<double>() / waits[1].get<double>();
    rules.half_open_max_delay = Milliseconds(waits.back());
  }
  for (size_t i = 3; i < waits.size(); ++i) {
    const double grown = waits[i - 1].get<double>() * rules.half_open_delay_factor;
    if (std::min(grown, waits.back().get<double>()) != waits[i].get<double>()) {
      throw Unmapped("break durations that do not grow by one factor are not mapped");
    }
  }
  return Run(vector, rules, {});
}

Json RunPollyShouldBreak(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"throughput", "minimum", "rate", "threshold"});
    got.push_back(RateReached(
        Percent(event.at("rate").get<double>()), Percent(event.at("threshold").get<double>()),
        event.at("throughput").get<int64_t>(), event.at("minimum").get<int64_t>()));
  }
  return got;
}

// Its percentages are rounded to whole ones.
Json RunFailsafeBreaker(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "delayMs", "failureThreshold", "failureThresholdingCapacity",
             "failureRateThreshold", "failureExecutionThreshold", "failureThresholdingPeriodMs",
             "successThreshold", "successThresholdingCapacity"});
  const int threshold = config.value("failureThreshold", 0);
  const int executions = config.value("failureExecutionThreshold", 0);
  const int rate = config.value("failureRateThreshold", 0);
  int capacity = config.value("failureThresholdingCapacity", 0);
  if (capacity == 0) capacity = std::max(threshold, executions);
  BreakerRules rules;
  rules.trip_on = {.fault_limit = false, .failure_rate = rate > 0, .failed_calls = rate == 0};
  rules.minimum_calls = std::max(executions, 1);
  if (rate > 0) rules.failure_rate = rate - 0.5;
  if (threshold > 0) rules.failed_calls = threshold;
  if (config.contains("failureThresholdingPeriodMs") &&
      config["failureThresholdingPeriodMs"] != 0) {
    rules.rate_window_size = Milliseconds(config["failureThresholdingPeriodMs"]);
  } else {
    rules.rate_window = RateWindowKind::kCalls;
    rules.rate_window_calls = std::max(capacity, 1);
  }
  rules.half_open_initial_delay = rules.half_open_delay =
      Milliseconds(config.value("delayMs", Json(60000)));
  rules.half_open_probe_timeout = absl::InfiniteDuration();
  if (const int successes = config.value("successThreshold", 0); successes > 0) {
    const int of = std::max(config.value("successThresholdingCapacity", successes), successes);
    rules.half_open_probes = of;
    rules.half_open_successes = successes;
    rules.half_open_failures = of - successes + 1;
  } else if (rate > 0) {
    rules.half_open_probes = std::max(executions, 1);
    rules.half_open_judged_by = HalfOpenJudge::kRate;
  } else {
    rules.half_open_probes = std::max(capacity, 1);
    rules.half_open_successes = capacity - threshold + 1;
    rules.half_open_failures = threshold;
  }
  return Run(vector, rules, {.results_come_alone = true});
}

}  // namespace marpc::vectors
