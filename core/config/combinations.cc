#include "marpc/config/combinations.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/config/load_balance_keys.h"

namespace marpc {
namespace {

// Reports `message` at the last of `keys` that is given at this level. Given at none of them, the
// combination was reported where it came from.
void Report(const AssignmentGroup& given, std::initializer_list<absl::string_view> keys,
            absl::string_view message, Faults& faults) {
  const Assignment* last = nullptr;
  for (const absl::string_view key : keys) {
    const Assignment* found = given.Find(key);
    if (found == nullptr) continue;
    const auto place = [](const Assignment& a) { return std::tie(a.mark.line, a.mark.column); };
    if (last == nullptr || place(*last) < place(*found)) last = found;
  }
  if (last != nullptr) {
    faults.Add(last->mark, absl::StrCat(given.path, given.path.empty() ? "" : ".", last->key->name,
                                        ": ", message));
  }
}

// Is the key, below retry.backoff, a part of the strategy's formula?
bool ActsOn(absl::string_view key, BackoffStrategy strategy) {
  using Strategy = BackoffStrategy;
  const bool uniform = strategy == Strategy::kUniform;
  const bool list = strategy == Strategy::kList;
  if (strategy == Strategy::kNone) return false;
  if (key == "min") return uniform;
  if (key == "delays") return list;
  if (key == "initial") return !uniform && !list;
  if (key == "factor") {
    return strategy == Strategy::kExponential || strategy == Strategy::kExponentialRandom;
  }
  if (key == "max" || key == "jitterMayExceedMax") return !list;
  return true;
}

absl::string_view NameOf(BackoffStrategy strategy) {
  const auto named = std::find_if(std::begin(kBackoffStrategies), std::end(kBackoffStrategies),
                                  [&](const auto& named) { return named.second == strategy; });
  return named->first;
}

void CheckBackoff(const AssignmentGroup& given, const BackoffSettings& backoff, Faults& faults) {
  const BackoffStrategy strategy = backoff.strategy;
  for (const absl::string_view key :
       {"initial", "min", "max", "factor", "jitter", "jitterMayExceedMax", "delays"}) {
    if (ActsOn(key, strategy)) continue;
    Report(given, {absl::StrCat("retry.backoff.", key)},
           absl::StrCat("has no effect with the strategy ", NameOf(strategy),
                        " (retry.backoff.strategy)"),
           faults);
  }
  if (ActsOn("initial", strategy) && backoff.max < backoff.initial) {
    Report(given, {"retry.backoff.strategy", "retry.backoff.initial", "retry.backoff.max"},
           absl::StrCat("backoff.max (", absl::FormatDuration(backoff.max),
                        ") is below backoff.initial (", absl::FormatDuration(backoff.initial), ")"),
           faults);
  }
  if (ActsOn("min", strategy) && backoff.max < backoff.min) {
    Report(given, {"retry.backoff.strategy", "retry.backoff.min", "retry.backoff.max"},
           absl::StrCat("backoff.max (", absl::FormatDuration(backoff.max),
                        ") is below backoff.min (", absl::FormatDuration(backoff.min), ")"),
           faults);
  }
  if (ActsOn("delays", strategy) && backoff.delays.empty()) {
    Report(given, {"retry.backoff.strategy", "retry.backoff.delays"},
           "the strategy list needs at least one of retry.backoff.delays", faults);
  }
}

// A strategy that was chosen and never waits. `settings` came from `parent`, where it was told.
void WarnOfNoWait(absl::string_view where, const BackoffSettings& backoff,
                  const BackoffSettings& parent, std::vector<std::string>& warnings) {
  if (backoff == parent || backoff.strategy == BackoffStrategy::kExponential) return;
  if (!ActsOn("initial", backoff.strategy) || backoff.initial > absl::ZeroDuration()) return;
  warnings.push_back(absl::StrCat(where, "retry.backoff.strategy ", NameOf(backoff.strategy),
                                  " does not wait before any retry: retry.backoff.initial is 0"));
}

// Thresholds that were set and trip nothing, scopes that were given keys and have no breakers.
// `breaker` came from `parent`, where it was told.
void WarnOfIdleKeys(absl::string_view where, const CircuitBreakerSettings& breaker,
                    const CircuitBreakerSettings& parent, std::vector<std::string>& warnings) {
  if (breaker == parent) return;
  const BreakerRules usual;
  const BreakerTrips& trips = breaker.trip_on;
  const auto named = [](const BreakerOverrides& overrides, bool BreakerTrips::*trip) {
    return overrides.trip_on.has_value() && *overrides.trip_on.*trip;
  };
  const auto check = [&](absl::string_view key, auto member, bool BreakerTrips::*trip) {
    // What came from above acts on others.
    if (breaker.*member == parent.*member || breaker.*member == usual.*member) return;
    if (trips.*trip) return;
    if (named(breaker.method, trip) || named(breaker.instance, trip)) return;
    warnings.push_back(absl::StrCat(where, "circuitbreaker.", key,
                                    " has no effect: circuitbreaker.tripOn does not name it"));
  };
  using R = BreakerRules;
  using T = BreakerTrips;
  check("faultLimit", &R::fault_limit, &T::fault_limit);
  check("consecutiveFailures", &R::consecutive_failures, &T::consecutive_failures);
  check("failedCalls", &R::failed_calls, &T::failed_calls);
  check("slowCallRate", &R::slow_call_rate, &T::slow_call_rate);
  // Rates judge probes, too.
  if (breaker.half_open_judged_by == HalfOpenJudge::kCount) {
    check("failureRate", &R::failure_rate, &T::failure_rate);
  }
  const auto percent = [&](absl::string_view key, auto member) {
    const double value = breaker.*member;
    if (value == parent.*member || value <= 0 || value >= 1) return;
    warnings.push_back(absl::StrCat(where, "circuitbreaker.", key, " ", value, " is ", value,
                                    " percent; for a share of ", value, " write ", value * 100));
  };
  percent("failureRate", &R::failure_rate);
  percent("slowCallRate", &R::slow_call_rate);
  const absl::string_view or_proto =
      breaker.scope == BreakerScopes() ? " (a service's .proto may)" : "";
  const auto scope = [&](absl::string_view name, bool on, const BreakerOverrides& overrides) {
    if (on || overrides == BreakerOverrides()) return;
    warnings.push_back(absl::StrCat(where, "circuitbreaker.", name,
                                    " has no effect: circuitbreaker.scope does not name it",
                                    or_proto));
  };
  scope("method", breaker.scope.method, breaker.method);
  scope("instance", breaker.scope.instance, breaker.instance);
  if (breaker.active_probe && !(breaker.scope.instance && breaker.half_open)) {
    warnings.push_back(absl::StrCat(where, "circuitbreaker.activeProbe has no effect: ",
                                    breaker.scope.instance
                                        ? "circuitbreaker.halfOpen is false"
                                        : "circuitbreaker.scope does not name instance",
                                    breaker.scope.instance ? "" : or_proto));
  }
}

// Numbers that were set of what ejects nobody; a slow start without a window.
void WarnOfIdleKeys(absl::string_view where, const ServiceSettings& service,
                    const ServiceSettings& parent, std::vector<std::string>& warnings) {
  const OutlierSettings& outlier = service.outlier;
  const OutlierSettings usual;
  // What came from `parent` was told there.
  const bool same_trips = outlier.eject_on == parent.outlier.eject_on;
  const auto rule = [&](absl::string_view name, auto member, bool OutlierTrips::*trip) {
    if (outlier.eject_on.*trip || outlier.*member == usual.*member) return;
    if (same_trips && outlier.*member == parent.outlier.*member) return;
    warnings.push_back(
        absl::StrCat(where, "outlier.", name, " has no effect: outlier.ejectOn does not name it"));
  };
  rule("consecutiveErrors", &OutlierSettings::consecutive_errors,
       &OutlierTrips::consecutive_errors);
  rule("errorRate", &OutlierSettings::error_rate, &OutlierTrips::error_rate);
  rule("successRate", &OutlierSettings::success_rate, &OutlierTrips::success_rate);
  rule("failurePercentage", &OutlierSettings::failure_percentage,
       &OutlierTrips::failure_percentage);
  rule("latency", &OutlierSettings::latency, &OutlierTrips::latency);
  const SlowStartSettings& slow = service.slow_start;
  if (slow.window == absl::ZeroDuration() && slow != SlowStartSettings() &&
      slow != parent.slow_start) {
    warnings.push_back(absl::StrCat(where, "slowStart has no effect: slowStart.window is 0"));
  }
}

// More may be ejected than panic leaves ejected: those beyond bring all back into use.
void WarnOfPanic(absl::string_view where, const OutlierSettings& settings,
                 const OutlierSettings& above, std::vector<std::string>& warnings) {
  const auto contradicts = [](const OutlierSettings& s) {
    return s.enabled && s.panic_threshold > 100 - s.max_ejection_percent;
  };
  if (!contradicts(settings)) return;
  if (contradicts(above) && settings.panic_threshold == above.panic_threshold &&
      settings.max_ejection_percent == above.max_ejection_percent) {
    return;  // said above
  }
  warnings.push_back(absl::StrCat(
      where, "outlier.maxEjectionPercent (", settings.max_ejection_percent, ") lets more than ",
      100 - settings.panic_threshold,
      " % of the instances be ejected, where outlier.panicThreshold (", settings.panic_threshold,
      ") brings all of them back into use; lower one of the two"));
}

bool HasBreakers(const Settings& settings) {
  const auto enabled = [](const MethodSettings& one) { return one.circuit_breaker.enabled; };
  if (enabled(settings.method_defaults)) return true;
  for (const auto& [service, own] : settings.services) {
    if (enabled(own.method_defaults)) return true;
    for (const auto& [method, one] : own.methods) {
      if (enabled(one)) return true;
    }
  }
  return false;
}

}  // namespace

void CheckGlobal(const AssignmentGroup& given, const Settings& settings, Faults& faults) {
  const TransportSettings& transport = settings.transport;
  if (transport.reconnect_backoff_max < transport.reconnect_backoff_initial) {
    Report(
        given, {"transport.reconnectBackoffInitial", "transport.reconnectBackoffMax"},
        absl::StrCat("reconnectBackoffMax (", absl::FormatDuration(transport.reconnect_backoff_max),
                     ") is below reconnectBackoffInitial (",
                     absl::FormatDuration(transport.reconnect_backoff_initial), ")"),
        faults);
  }
  if (settings.alerts.webhook_url.empty() && !settings.alerts.webhook_secret.empty()) {
    Report(given, {"alerts.webhook.secret"}, "signs nothing: alerts.webhook.url is not set",
           faults);
  }
  const ProviderLimitSettings& limit = settings.provider.limit;
  if (limit.gradient.max < limit.gradient.min) {
    Report(given, {"provider.limit.auto.min", "provider.limit.auto.max"},
           absl::StrCat("auto.max (", limit.gradient.max, ") is below auto.min (",
                        limit.gradient.min, ")"),
           faults);
  }
  if (limit.sheddable_share > limit.normal_share) {
    Report(given, {"provider.limit.normalShare", "provider.limit.sheddableShare"},
           "sheddable calls may not fill more than normal ones (provider.limit.normalShare)",
           faults);
  }
  if (settings.registry.acl && settings.registry.auth.empty()) {
    Report(given, {"registry.acl", "registry.auth"},
           "there is no user to give the nodes to; set registry.auth to user:password", faults);
  }
}

void CheckService(const AssignmentGroup& given, const ServiceSettings& settings, Faults& faults) {
  const OutlierSettings& outlier = settings.outlier;
  if (outlier.max_ejection_time < outlier.base_ejection_time) {
    Report(
        given, {"outlier.baseEjectionTime", "outlier.maxEjectionTime"},
        absl::StrCat("outlier.maxEjectionTime (", absl::FormatDuration(outlier.max_ejection_time),
                     ") is below outlier.baseEjectionTime (",
                     absl::FormatDuration(outlier.base_ejection_time), ")"),
        faults);
  }
}

void CheckMethod(const AssignmentGroup& given, const MethodSettings& settings, Faults& faults) {
  CheckBackoff(given, settings.retry.backoff, faults);
  if (settings.retry.hedging.percentile > 0) {
    Report(given, {"retry.hedging.delay"}, "has no effect beside a percentile", faults);
  }
  if (settings.mock.reply.has_value() && settings.mock.code.has_value()) {
    Report(given, {"filter.mock.reply", "filter.mock.code"},
           "a method is mocked with a reply or with a code, not with both", faults);
  }
  if (!settings.mock.message.empty() && !settings.mock.code.has_value()) {
    Report(given, {"filter.mock.message"}, "a message without filter.mock.code says nothing",
           faults);
  }
}

void CheckSharedParts(const AssignmentGroup& given, const MethodSettings& settings,
                      SharedRetryParts& shared, Faults& faults) {
  const std::string other_budget = shared.budgets.Note(given.path, settings.retry.budget);
  if (!other_budget.empty()) {
    Report(given,
           {"retry.budget.enabled", "retry.budget.name", "retry.budget.percentCanRetry",
            "retry.budget.minRetriesPerSec", "retry.budget.initial", "retry.budget.ttl",
            "retry.budget.burst"},
           absl::StrCat("the budget ", Quote(settings.retry.budget.name), " has other settings at ",
                        other_budget, ".retry.budget"),
           faults);
  }
  const std::string other_throttle = shared.throttles.Note(given.path, settings.retry.throttle);
  if (!other_throttle.empty()) {
    Report(given,
           {"retry.throttle.enabled", "retry.throttle.name", "retry.throttle.maxTokens",
            "retry.throttle.tokenRatio"},
           absl::StrCat("the throttle ", Quote(settings.retry.throttle.name),
                        " has other settings at ", other_throttle, ".retry.throttle"),
           faults);
  }
}

std::vector<std::string> Warnings(const Settings& settings) {
  std::vector<std::string> warnings;
  if (settings.transport.keepalive_time < settings.provider.keepalive_min_interval) {
    warnings.push_back(absl::StrCat(
        "transport.keepaliveTime (", absl::FormatDuration(settings.transport.keepalive_time),
        ") is below what a provider permits by provider.keepaliveMinInterval (",
        absl::FormatDuration(settings.provider.keepalive_min_interval),
        "): providers will close the connection with too_many_pings"));
  }
  if (!settings.registry.static_instances.empty() && settings.registry.address != "static:") {
    warnings.push_back("registry.static has no effect: it is read when registry.address is static");
  }
  const bool shares =
      std::any_of(settings.services.begin(), settings.services.end(),
                  [](auto& one) { return one.second.service.shared_breakers.enabled; });
  if ((shares || settings.service_defaults.shared_breakers.enabled) &&
      settings.registry.address == "static:") {
    warnings.push_back(
        "circuitbreaker.shared has no effect: consumers do not see each other in a static: "
        "registry");
  }
  if ((shares || settings.service_defaults.shared_breakers.enabled) && !HasBreakers(settings)) {
    warnings.push_back(
        "circuitbreaker.shared has no effect but for methods whose own options have breakers: "
        "circuitbreaker.enabled is nowhere true");
  }
  const BackoffSettings& top = settings.method_defaults.retry.backoff;
  WarnOfNoWait("", top, BackoffSettings(), warnings);
  const CircuitBreakerSettings& breaker = settings.method_defaults.circuit_breaker;
  WarnOfIdleKeys("", breaker, CircuitBreakerSettings(), warnings);
  WarnOfIdleKeys("", settings.service_defaults, ServiceSettings(), warnings);
  const std::string& zone = settings.provider.zone;
  WarnOfIdleBalancing("", settings.service_defaults, ServiceSettings(), zone, warnings);
  const OutlierSettings& outlier = settings.service_defaults.outlier;
  WarnOfPanic("", outlier, OutlierSettings(), warnings);
  for (const auto& [service, own] : settings.services) {
    const std::string where = absl::StrCat("services.", service, ".");
    const BackoffSettings& shared = own.method_defaults.retry.backoff;
    const CircuitBreakerSettings& its_breaker = own.method_defaults.circuit_breaker;
    WarnOfNoWait(where, shared, top, warnings);
    WarnOfIdleKeys(where, its_breaker, breaker, warnings);
    WarnOfIdleKeys(where, own.service, settings.service_defaults, warnings);
    WarnOfIdleBalancing(where, own.service, settings.service_defaults, zone, warnings);
    WarnOfPanic(where, own.service.outlier, outlier, warnings);
    for (const auto& [method, one] : own.methods) {
      const std::string place = absl::StrCat(where, "methods.", method, ".");
      WarnOfNoWait(place, one.retry.backoff, shared, warnings);
      WarnOfIdleKeys(place, one.circuit_breaker, its_breaker, warnings);
    }
  }
  return warnings;
}

}  // namespace marpc
