#include "marpc/config/breaker_keys.h"

#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/config/failure_name.h"
#include "marpc/config/key_definition.h"
#include "marpc/config/value_type.h"

namespace marpc {
namespace {

using R = BreakerRules;
using S = CircuitBreakerSettings;

constexpr absl::Duration kNone = absl::ZeroDuration();
constexpr absl::Duration kMillisecond = absl::Milliseconds(1);
constexpr absl::Duration kHour = absl::Hours(1);
constexpr absl::Duration kDay = absl::Hours(24);

// A member of the settings or of the rules that they are made of.
template <typename Base, typename T>
Field<MethodSettings, T> Of(T Base::*member) {
  return {[member](MethodSettings& method) -> T& { return method.circuit_breaker.*member; }};
}

ValueType<BreakerTrips> Trips() {
  return OneOrSeveralOf<BreakerTrips>({{"faultLimit", &BreakerTrips::fault_limit},
                                       {"consecutiveFailures", &BreakerTrips::consecutive_failures},
                                       {"failureRate", &BreakerTrips::failure_rate},
                                       {"slowCallRate", &BreakerTrips::slow_call_rate},
                                       {"failedCalls", &BreakerTrips::failed_calls}});
}

ValueType<int> Limit() { return Whole<int>(1, 1'000'000); }
ValueType<double> Percent() { return Number(0, 100, /*above=*/true); }
ValueType<absl::Duration> Window(BareNumber unit = BareNumber::kMilliseconds) {
  return Time(absl::Milliseconds(100), kHour, unit);
}
ValueType<absl::Duration> Wait() { return Time(kMillisecond, kDay); }
ValueType<absl::Duration> RampUp() { return Time(kNone, kDay); }
ValueType<int> Probes() { return Whole<int>(1, 1000); }
ValueType<int> MinimumCalls() { return Whole<int>(1, 1'000'000); }

std::vector<Key> ScopeKeys() {
  return {
      Define("circuitbreaker.enabled", Of(&S::enabled), TrueOrFalse(), "true",
             "Fail fast while a service is sick."),
      Only({Level::kGlobal, Level::kService},
           Define("circuitbreaker.scope", Of(&S::scope),
                  OneOrSeveralOf<BreakerScopes>({{"service", &BreakerScopes::service},
                                                 {"method", &BreakerScopes::method},
                                                 {"instance", &BreakerScopes::instance}}),
                  "[method, instance]",
                  "One breaker for the service, for each of its methods, or for each of its "
                  "instances, which the balancer then passes over; several at once as a list.")),
      Define(
          "circuitbreaker.initialState", Of(&R::initial_state),
          OneOf<BreakerInitialState>({{"closed", BreakerInitialState::kClosed},
                                      {"forced-open", BreakerInitialState::kForcedOpen},
                                      {"disabled", BreakerInitialState::kDisabled},
                                      {"metrics-only", BreakerInitialState::kMetricsOnly}}),
          "metrics-only",
          "What it begins in: forced-open lets nothing through, disabled all and counts nothing, "
          "metrics-only all and counts."),
      Define("circuitbreaker.record", Of(&S::record), ListOf(FailureName()),
             "[RESOURCE_EXHAUSTED, OVERLOADED]",
             "Failures that count besides lost requests: status codes, or reasons as OVERLOADED "
             "and MESSAGE_TOO_LARGE, which alone name what was refused on this side."),
      Define("circuitbreaker.ignore", Of(&S::ignore), ListOf(FailureName()), "[DEADLINE]",
             "Failures that say nothing of the peer, neither good nor bad; wins over record."),
  };
}

std::vector<Key> FailureKeys() {
  return {
      Define("circuitbreaker.tripOn", Of(&R::trip_on), Trips(), "[faultLimit, slowCallRate]",
             "What opens it, whichever comes first; each has its threshold in the key of its "
             "name."),
      Define("circuitbreaker.faultLimit", Of(&R::fault_limit), Limit(), "10",
             "Failures within the window that open it."),
      Define("circuitbreaker.windowSize", Of(&R::window_size), Window(BareNumber::kSeconds), "30s",
             "How long a failure counts. A bare number is SECONDS here, as in the original marpc."),
      Define("circuitbreaker.successResets", Of(&R::success_resets), TrueOrFalse(), "true",
             "One success forgets the failures before it; false: they count as long as they are "
             "inside the window."),
      Define("circuitbreaker.consecutiveFailures", Of(&R::consecutive_failures), Limit(), "3",
             "Failures without a success between them that open it, however far apart."),
  };
}

std::vector<Key> RateKeys() {
  return {
      Define("circuitbreaker.failureRate", Of(&R::failure_rate), Percent(), "25",
             "The percentage of failures in the rate window that opens it."),
      Define("circuitbreaker.slowCallRate", Of(&R::slow_call_rate), Percent(), "80",
             "The percentage of slow calls in the rate window that opens it."),
      Define("circuitbreaker.failedCalls", Of(&R::failed_calls), Limit(), "3",
             "The number of failures in the rate window that opens it."),
      Define("circuitbreaker.slowCallDuration", Of(&R::slow_call_duration), Wait(), "300ms",
             "A call that takes longer is slow; one that hangs is, as soon as it has."),
      Define("circuitbreaker.slowCallsFail", Of(&R::slow_calls_fail), TrueOrFalse(), "true",
             "A slow call is a failure, whatever it answers."),
      Define("circuitbreaker.rateWindow", Of(&R::rate_window),
             OneOf<RateWindowKind>(
                 {{"time", RateWindowKind::kTime}, {"calls", RateWindowKind::kCalls}}),
             "calls", "Rates are those of the latest time, or of the latest calls."),
      Define("circuitbreaker.rateWindowSize", Of(&R::rate_window_size), Window(), "1m",
             "That time."),
      Define("circuitbreaker.rateWindowBuckets", Of(&R::rate_window_buckets), Whole<int>(1, 60),
             "20", "The steps in which that time moves on."),
      Define("circuitbreaker.rateWindowCalls", Of(&R::rate_window_calls), Whole<int>(1, 10'000),
             "50", "How many calls those are."),
      Define("circuitbreaker.minimumCalls", Of(&R::minimum_calls), MinimumCalls(), "10",
             "Calls that the rate window must hold before anything is judged by it; all of it, "
             "where it holds fewer."),
      Define("circuitbreaker.successMayTrip", Of(&R::success_may_trip), TrueOrFalse(), "false",
             "The call that makes the rate window speak may be one that succeeded; false: only a "
             "failure or a slow call opens it."),
  };
}

std::vector<Key> HalfOpenKeys() {
  return {
      Define("circuitbreaker.halfOpenInitialDelay", Of(&R::half_open_initial_delay), Wait(), "20s",
             "From opening to the first probe."),
      Define("circuitbreaker.halfOpenDelay", Of(&R::half_open_delay), Wait(), "2s",
             "From a failed probe to the next one."),
      Define("circuitbreaker.halfOpenDelayFactor", Of(&R::half_open_delay_factor), Number(1, 100),
             "2", "What halfOpenDelay is multiplied with each time the probes fail again."),
      Define("circuitbreaker.halfOpenMaxDelay", Of(&R::half_open_max_delay), Wait(), "1m",
             "The longest that it grows to."),
      Define("circuitbreaker.halfOpenJitter", Of(&R::half_open_jitter), Number(0, 1), "0.3",
             "The part of a wait that chance adds to it, so that not all consumers probe at once."),
      Define("circuitbreaker.halfOpen", Of(&R::half_open), TrueOrFalse(), "false",
             "Probe before closing; false: closed when the wait is over."),
      Define("circuitbreaker.halfOpenProbes", Of(&R::half_open_probes), Probes(), "3",
             "Calls let through as probes at a time; when all of them succeed it closes."),
      Define(
          "circuitbreaker.halfOpenJudgedBy", Of(&R::half_open_judged_by),
          OneOf<HalfOpenJudge>({{"count", HalfOpenJudge::kCount}, {"rate", HalfOpenJudge::kRate}}),
          "rate",
          "Probes are judged by halfOpenSuccesses and halfOpenFailures, or all of them together "
          "by failureRate and slowCallRate."),
      Define("circuitbreaker.halfOpenSuccesses", Of(&R::half_open_successes),
             Optional(Probes(), "as halfOpenProbes"), "5",
             "Probes that must succeed for it to close. Left out: as many as halfOpenProbes."),
      Define("circuitbreaker.halfOpenFailures", Of(&R::half_open_failures), Probes(), "2",
             "Probes that must fail for it to open again."),
      Define("circuitbreaker.halfOpenProbeTimeout", Of(&R::half_open_probe_timeout),
             Optional(Wait(), "as halfOpenDelay"), "10s",
             "After that a probe that has not ended makes room for another; with activeProbe not "
             "before healthCheck.timeout. Left out: halfOpenDelay."),
      Define("circuitbreaker.halfOpenTimeLimit", Of(&R::half_open_time_limit), Time(kNone, kDay),
             "30s", "How long probes may leave it undecided; 0: for ever."),
      Define("circuitbreaker.halfOpenUndecided", Of(&R::half_open_undecided),
             OneOf<HalfOpenUndecided>(
                 {{"open", HalfOpenUndecided::kOpen}, {"closed", HalfOpenUndecided::kClosed}}),
             "closed", "What it becomes then."),
      Only({Level::kGlobal, Level::kService},
           Define("circuitbreaker.activeProbe", Of(&R::active_probe), TrueOrFalse(), "true",
                  "The probes of an instance's breaker are health checks instead of calls, so that "
                  "it closes without traffic.")),
      Define("circuitbreaker.rampUp", Of(&R::ramp_up), RampUp(), "30s",
             "After closing, the time in which the calls let through grow to all of them; 0: at "
             "once."),
      Define("circuitbreaker.rampUpFrom", Of(&R::ramp_up_from), Number(0, 100), "25",
             "The percentage of the calls that it begins with."),
  };
}

ValueType<int> Voters() {
  ValueType<int> whole = Whole<int>(2, 100'000);
  return ScalarType<int>(
      whole.name,
      absl::StrCat(whole.expected,
                   " (with 1 a single consumer, whose own way may be broken, would open a breaker "
                   "for all)"),
      [](const std::string& text) -> std::optional<int> {
        const std::optional<int64_t> value = ParseWhole(text);
        if (!value.has_value() || *value < 2 || *value > 100'000) return std::nullopt;
        return static_cast<int>(*value);
      },
      std::move(whole.show));
}

// Of a service.
std::vector<Key> SharedKeys() {
  using B = SharedBreakerSettings;
  const auto of = [](auto B::*member) { return At(&ServiceSettings::shared_breakers, member); };
  return {
      Define("circuitbreaker.shared.enabled", of(&B::enabled), TrueOrFalse(), "true",
             "Tell the service's other consumers which breakers are open here, through the "
             "registry, and open those that enough of them have opened."),
      Define("circuitbreaker.shared.quorum", of(&B::quorum), Whole<int>(1, 100), "30",
             "How many of the consumers that is, in percent."),
      Define("circuitbreaker.shared.minConsumers", of(&B::min_consumers), Voters(), "3",
             "And at least so many, however few there are; never one alone."),
      Define("circuitbreaker.shared.writeInterval", of(&B::write_interval),
             Time(absl::Milliseconds(100), kHour), "5s",
             "At most one write to the registry in so long."),
  };
}

// The keys that a scope may have of its own, below circuitbreaker.method or
// circuitbreaker.instance.
std::vector<Key> OverrideKeys(const std::string& scope, BreakerOverrides S::*overrides) {
  using O = BreakerOverrides;
  const auto define = [&]<typename T>(const std::string& name, std::optional<T> O::*member,
                                      ValueType<T> type, std::string example) {
    const Field<MethodSettings, std::optional<T>> field = {
        [overrides, member](MethodSettings& method) -> std::optional<T>& {
          return method.circuit_breaker.*overrides.*member;
        }};
    return Define(absl::StrCat("circuitbreaker.", scope, ".", name), field,
                  Optional(std::move(type), absl::StrCat("as circuitbreaker.", name)),
                  std::move(example),
                  absl::StrCat("What circuitbreaker.", name, " is for the breakers of each ", scope,
                               ". Left out: the same."));
  };
  return {
      define("tripOn", &O::trip_on, Trips(), "consecutiveFailures"),
      define("faultLimit", &O::fault_limit, Limit(), "3"),
      define("windowSize", &O::window_size, Window(BareNumber::kSeconds), "5s"),
      define("consecutiveFailures", &O::consecutive_failures, Limit(), "3"),
      define("failureRate", &O::failure_rate, Percent(), "30"),
      define("slowCallRate", &O::slow_call_rate, Percent(), "60"),
      define("slowCallDuration", &O::slow_call_duration, Wait(), "500ms"),
      define("minimumCalls", &O::minimum_calls, MinimumCalls(), "5"),
      define("halfOpenInitialDelay", &O::half_open_initial_delay, Wait(), "3s"),
      define("halfOpenDelay", &O::half_open_delay, Wait(), "3s"),
      define("halfOpenProbes", &O::half_open_probes, Probes(), "2"),
      define("rampUp", &O::ramp_up, RampUp(), "10s"),
  };
}

}  // namespace

std::vector<Key> BreakerKeys() {
  std::vector<Key> all;
  for (std::vector<Key> keys :
       {ScopeKeys(), FailureKeys(), RateKeys(), HalfOpenKeys(), SharedKeys(),
        OverrideKeys("method", &S::method), OverrideKeys("instance", &S::instance)}) {
    std::move(keys.begin(), keys.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace marpc
