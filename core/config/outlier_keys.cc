#include "marpc/config/outlier_keys.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/config/failure_name.h"
#include "marpc/config/key_definition.h"
#include "marpc/config/outlier_settings.h"
#include "marpc/config/value_type.h"

namespace marpc {
namespace {

using O = OutlierSettings;
using S = ServiceSettings;

constexpr absl::Duration kNone = absl::ZeroDuration();
constexpr absl::Duration kDay = absl::Hours(24);

// A member of the settings themselves, or of one of their rules.
template <typename T>
Field<S, T> Of(T O::*member) {
  return At(&S::outlier, member);
}
template <typename Rule, typename T>
Field<S, T> Of(Rule O::*rule, T Rule::*member) {
  return At(&S::outlier, rule, member);
}

ValueType<int> WholePercent() { return Whole<int>(0, 100); }
ValueType<int> Volume() { return Whole<int>(1, 1'000'000); }
ValueType<int> Hosts(int least) { return Whole<int>(least, 1'000'000); }

template <typename Rule>
Key EnforcementKey(const std::string& name, Rule O::*rule) {
  return Define(absl::StrCat("outlier.", name, ".enforcementPercent"),
                Of(rule, &Rule::enforcement_percent), WholePercent(), "50",
                "The percentage of the instances found by it that are ejected; chance spares the "
                "others.");
}

template <typename Rule>
Key VolumeKey(const std::string& name, Rule O::*rule) {
  return Define(absl::StrCat("outlier.", name, ".requestVolume"), Of(rule, &Rule::request_volume),
                Volume(), "30",
                "Calls that an instance must have had in the interval to be judged by it.");
}

template <typename Rule>
Key HostsKey(const std::string& name, Rule O::*rule, int least) {
  return Define(absl::StrCat("outlier.", name, ".minimumHosts"), Of(rule, &Rule::minimum_hosts),
                Hosts(least), "4", "Instances with that many calls that it takes to compare them.");
}

std::vector<Key> EjectionKeys() {
  return {
      Define("outlier.enabled", Of(&O::enabled), TrueOrFalse(), "true",
             "Take an instance that does worse than its peers out for a while."),
      Define("outlier.ejectOn", Of(&O::eject_on),
             OneOrSeveralOf<OutlierTrips>({{"consecutiveErrors", &OutlierTrips::consecutive_errors},
                                           {"errorRate", &OutlierTrips::error_rate},
                                           {"successRate", &OutlierTrips::success_rate},
                                           {"failurePercentage", &OutlierTrips::failure_percentage},
                                           {"latency", &OutlierTrips::latency}}),
             "[consecutiveErrors, latency]",
             "What ejects it, whichever comes first; each has its numbers below its name."),
      Define("outlier.record", Of(&O::record), ListOf(FailureName()), "[INTERNAL, OVERLOADED]",
             "Failures that count besides lost requests: status codes or reasons."),
      Define("outlier.ignore", Of(&O::ignore), ListOf(FailureName()), "[DEADLINE]",
             "Failures that say nothing of the instance, neither good nor bad; wins over record."),
      Define("outlier.interval", Of(&O::interval), Time(absl::Milliseconds(100), absl::Hours(1)),
             "5s", "How often instances are compared and ejections looked through."),
      Define("outlier.baseEjectionTime", Of(&O::base_ejection_time),
             Time(absl::Milliseconds(1), kDay), "10s",
             "How long a first ejection lasts; twice as long the second time, and so on. It is "
             "counted one less for each interval that the instance is not ejected."),
      Define("outlier.maxEjectionTime", Of(&O::max_ejection_time),
             Time(absl::Milliseconds(1), kDay), "2m",
             "The longest that it grows to; not below baseEjectionTime."),
      Define("outlier.maxEjectionPercent", Of(&O::max_ejection_percent), WholePercent(), "34",
             "No instance is ejected while so many percent of them are: asked before each "
             "ejection, so "
             "that one of a few always may be, and of 15 with 10 two are. 0: none is."),
      Define("outlier.panicThreshold", Of(&O::panic_threshold), WholePercent(), "30",
             "With less than so many percent of the instances left, ejected ones are used like the "
             "others. 0: with none left."),
  };
}

std::vector<Key> RuleKeys() {
  return {
      Define("outlier.consecutiveErrors.threshold",
             Of(&O::consecutive_errors, &ConsecutiveErrorsRule::threshold),
             Whole<int>(1, 1'000'000), "3",
             "Errors without an answer between them that eject it, however far apart."),
      EnforcementKey("consecutiveErrors", &O::consecutive_errors),
      Define("outlier.errorRate.threshold", Of(&O::error_rate, &ErrorRateRule::threshold),
             Number(0, 100, /*above=*/true), "30",
             "The percentage of errors among its own calls of the interval that ejects it, "
             "whatever its peers do."),
      VolumeKey("errorRate", &O::error_rate),
      EnforcementKey("errorRate", &O::error_rate),
      Define("outlier.successRate.stdevFactor",
             Of(&O::success_rate, &SuccessRateRule::stdev_factor), Whole<int>(0, 100'000), "1500",
             "How many thousandths of a standard deviation its share of successes must be below "
             "the instances' mean for it to be ejected."),
      HostsKey("successRate", &O::success_rate, 1),
      VolumeKey("successRate", &O::success_rate),
      EnforcementKey("successRate", &O::success_rate),
      Define("outlier.failurePercentage.threshold",
             Of(&O::failure_percentage, &FailurePercentageRule::threshold), Number(0, 100), "60",
             "The percentage of failures in the interval above which it is ejected."),
      HostsKey("failurePercentage", &O::failure_percentage, 1),
      VolumeKey("failurePercentage", &O::failure_percentage),
      EnforcementKey("failurePercentage", &O::failure_percentage),
      Define("outlier.latency.factor", Of(&O::latency, &LatencyRule::factor), Number(1, 1000), "5",
             "How many times the median of its peers' mean latencies its own must be for it to be "
             "ejected."),
      Define("outlier.latency.minimumExcess", Of(&O::latency, &LatencyRule::minimum_excess),
             Time(kNone, absl::Hours(1)), "50ms", "How far above that median it must be besides."),
      HostsKey("latency", &O::latency, 2),
      VolumeKey("latency", &O::latency),
      EnforcementKey("latency", &O::latency),
  };
}

std::vector<Key> SlowStartKeys() {
  using W = SlowStartSettings;
  const auto of = [](auto W::*member) { return At(&S::slow_start, member); };
  return {
      Define("slowStart.window", of(&W::window), Time(kNone, kDay), "30s",
             "How long an instance that is new, or back from an ejection or an open breaker, takes "
             "to its full share of the calls; 0: none."),
      Define("slowStart.aggression", of(&W::aggression), Number(0, 100, /*above=*/true), "2",
             "The form of the growth: 1 even, above it quick at first, below it slow at first."),
      Define("slowStart.minWeightPercent", of(&W::min_weight_percent),
             Number(0, 100, /*above=*/true), "5",
             "The percentage of its share that it begins with."),
  };
}

}  // namespace

std::vector<Key> OutlierKeys() {
  std::vector<Key> all;
  for (std::vector<Key> keys : {EjectionKeys(), RuleKeys(), SlowStartKeys()}) {
    std::move(keys.begin(), keys.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace marpc
