#include "marpc/config/limit_keys.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/config/key_definition.h"
#include "marpc/config/value_type.h"

namespace marpc {
namespace {

constexpr absl::Duration kNone = absl::ZeroDuration();
constexpr absl::Duration kMillisecond = absl::Milliseconds(1);
constexpr absl::Duration kHour = absl::Hours(1);
constexpr double kMaxRate = 1e6;
constexpr char kAutomatic[] = "auto";

ValueType<int> Calls() { return Whole<int>(0, 1'000'000); }
ValueType<double> Rate(bool above_zero) { return Number(0, kMaxRate, above_zero); }
ValueType<absl::Duration> RateWindow() { return Time(absl::Milliseconds(100), kHour); }

ValueType<ConcurrencyLimit> CallsOrAutomatic() {
  return ScalarType<ConcurrencyLimit>(
      "whole number, 1 to 1000000, or auto", "a whole number from 1 to 1000000, or auto",
      [](const std::string& text) -> std::optional<ConcurrencyLimit> {
        if (text == kAutomatic) return ConcurrencyLimit{.automatic = true};
        const std::optional<int64_t> calls = ParseWhole(text);
        if (!calls.has_value() || *calls < 1 || *calls > 1'000'000) return std::nullopt;
        return ConcurrencyLimit{.calls = static_cast<int>(*calls)};
      },
      [](const ConcurrencyLimit& limit) {
        return limit.automatic ? std::string(kAutomatic) : absl::StrCat(limit.calls);
      });
}

// One value for the whole process, or a map from names to values.
template <typename T>
ValueType<ByCallName<T>> ByName(ValueType<T> one) {
  const ValueType<ByCallName<T>> several = MapOf(one);
  ValueType<ByCallName<T>> type{
      absl::StrCat(one.name, "; or a map from services, methods and all to it"),
      absl::StrCat(one.expected, ", or a map from services, methods and all to such values"),
      nullptr, several.show};
  type.read = [one = one.read, several = several.read, expected = type.expected](
                  const YamlNode& node, ReadContext& context, ByCallName<T>* target) {
    if (node.kind == YamlNode::Kind::kMap) return several(node, context, target);
    if (node.kind != YamlNode::Kind::kScalar) {
      context.Unexpected(node, expected);
      return false;
    }
    T value{};
    if (!one(node, context, &value)) return false;
    *target = {{kAllCalls, std::move(value)}};
    return true;
  };
  return type;
}

std::vector<Key> GradientKeys() {
  using G = GradientSettings;
  const auto at = [](auto G::*field) {
    return Field<Settings, std::decay_t<decltype(std::declval<G>().*field)>>{
        [field](Settings & s) -> auto& {return s.provider.limit.gradient.*field;
  }
};
};
return {
    Define("provider.limit.auto.initial", at(&G::initial), Whole<int>(1, 1'000'000), "50",
           "Where a limit that is auto begins."),
    Define("provider.limit.auto.min", at(&G::min), Whole<int>(1, 1'000'000), "10",
           "It does not fall below this."),
    Define("provider.limit.auto.max", at(&G::max), Whole<int>(1, 1'000'000), "200",
           "It does not rise above this."),
    Define("provider.limit.auto.tolerance", at(&G::tolerance), Number(1, 100), "2",
           "How many times the latency of an idle provider is still well; above it, the limit "
           "falls."),
    Define("provider.limit.auto.window", at(&G::window), Time(absl::Milliseconds(10), kHour), "1s",
           "The time over which latency is averaged before the limit moves."),
    Define("provider.limit.auto.remeasure", at(&G::remeasure), Time(absl::Seconds(1), kHour), "1m",
           "How often the latency of an idle provider is measured anew; a busy one halves its "
           "limit for two windows to do so."),
};
}

}  // namespace

std::vector<Key> CallLimitKeys() {
  using L = CallLimitSettings;
  using T = AdaptiveThrottleSettings;
  const auto at = [](auto L::*field) { return At(&MethodSettings::limit, field); };
  const auto throttle = [](auto T::*field) {
    return At(&MethodSettings::limit, &L::throttle, field);
  };
  return {
      Define("limit.maxConcurrent", at(&L::max_concurrent), Calls(), "64",
             "Calls that are under way at a time, at most; 0: no limit."),
      Define("limit.maxWait", at(&L::max_wait), Time(kNone, kHour), "200ms",
             "How long a call beyond that waits for another to end; 0: it is refused at once."),
      Define("limit.maxWaiting", at(&L::max_waiting), Whole<int>(1, 1'000'000), "100",
             "Calls that wait at a time, at most."),
      Define("limit.rate", at(&L::rate), Rate(/*above_zero=*/false), "100",
             "Calls a second, at most; 0: no limit."),
      Define("limit.rateWindow", at(&L::rate_window), RateWindow(), "5s",
             "The time over which they are counted; its share of the rate may come at once."),
      Define("limit.throttle.enabled", throttle(&T::enabled), TrueOrFalse(), "true",
             "Refuse calls here, by chance, while providers refuse or lose them."),
      Define("limit.throttle.multiplier", throttle(&T::multiplier), Number(1, 100), "1.5",
             "Calls are let through up to so many times what providers accept, and at least what "
             "maxRefusalPercent leaves."),
      Define("limit.throttle.window", throttle(&T::window), Time(absl::Seconds(1), kHour), "1m",
             "The time over which that is counted."),
      Define(
          "limit.throttle.maxRefusalPercent", throttle(&T::max_refusal_percent),
          Number(0, 100, true), "95",
          "Of a hundred calls so many are refused at most; the rest finds out when providers are "
          "back."),
  };
}

std::vector<Key> ProviderLimitKeys() {
  using L = ProviderLimitSettings;
  const auto at = [](auto L::*field) {
    return At(&Settings::provider, &ProviderSettings::limit, field);
  };
  std::vector<Key> keys = {
      Define("provider.limit.maxConcurrent", at(&L::max_concurrent), ByName(CallsOrAutomatic()),
             "{all: 200, demo.HelloService: auto, demo.HelloService/Delay: 4}",
             "Calls of marpc handlers that are under way at a time, at most; auto finds the limit "
             "by latency."),
      Define("provider.limit.rate", at(&L::rate), ByName(Rate(/*above_zero=*/true)),
             "{all: 5000, demo.HelloService/Delay: 10}", "Calls a second, at most."),
      Define("provider.limit.callerRate", at(&L::caller_rate), Rate(/*above_zero=*/false), "100",
             "Calls a second of each caller, at most; 0: no limit."),
      Define("provider.limit.callerMetadata", at(&L::caller_metadata), AnyText(), "x-tenant",
             "The request metadata that tells callers apart; empty: their addresses do."),
      Define("provider.limit.rateWindow", at(&L::rate_window), RateWindow(), "5s",
             "The time over which calls are counted; its share of a rate may come at once."),
      Define("provider.limit.maxWaiting", at(&L::max_waiting), Whole<int>(0, 1'000'000), "100",
             "Calls that wait for a place under maxConcurrent, at most."),
      Define("provider.limit.maxWait", at(&L::max_wait), Time(kMillisecond, kHour), "20ms",
             "How long one waits before it is refused; never beyond its own deadline."),
      Define("provider.limit.normalShare", at(&L::normal_share), Number(0, 100, /*above=*/true),
             "90", "The percentage of each limit that calls of the class normal may fill."),
      Define("provider.limit.sheddableShare", at(&L::sheddable_share),
             Number(0, 100, /*above=*/true), "50",
             "The percentage of each limit that calls of the class sheddable may fill."),
      Define("provider.limit.pushback", at(&L::pushback), Time(kNone, absl::Minutes(1)), "200ms",
             "What a caller refused for overload is told to wait before a retry, give or take a "
             "half; 0: it is told nothing."),
  };
  for (Key& key : GradientKeys()) keys.push_back(std::move(key));
  return keys;
}

}  // namespace marpc
