// php_fallback: one attempt behind a circuit breaker, answered from the last good value when it
// fails or is refused.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/retry/last_good.h"
#include "marpc/retry/retry.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"
#include "tests/vectors/retry_rig.h"

namespace marpc::vectors {
namespace {

constexpr char kUser[] = "user";

CircuitBreakerSettings BreakerOf(const Json& config) {
  CircuitBreakerSettings settings;
  settings.enabled = true;
  settings.success_resets = true;
  settings.fault_limit = config.value("failureThreshold", 5);
  settings.half_open_probes = config.value("successThreshold", 3);
  settings.half_open_initial_delay = settings.half_open_delay =
      Milliseconds(config.value("timeoutMs", Json(30000)));
  return settings;
}

}  // namespace

Json RunPhpFallback(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "failureThreshold", "successThreshold", "timeoutMs"});
  RetryRig rig(config);
  LastGood<std::string> cache(absl::Hours(1), 10, rig.clock());
  const auto retry = rig.Under(Retry::OnError())
                         .Max(1)
                         .Breaker(std::make_shared<CircuitBreaker>(BreakerOf(config)))
                         .Fallback(cache.Fallback(kUser));
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"op", "result", "value", "ms"});
    const std::string op = event.at("op").get<std::string>();
    if (op == "call") {
      RetryReport report;
      const absl::StatusOr<std::string> answer = retry.Call(
          [&]() -> absl::StatusOr<std::string> {
            if (event.at("result") == "ok") return "live";
            return absl::UnavailableError("down");
          },
          {.report = &report});
      got.push_back({{"ran", report.attempts > 0},
                     {"answer", answer.ok() ? *answer : "error:service_unavailable"}});
      continue;
    }
    if (op == "setCache") {
      cache.Keep(kUser, event.at("value").get<std::string>());
    } else if (op == "clearCache") {
      cache.Forget(kUser);
    } else if (op == "advance") {
      rig.clock().Advance(Milliseconds(event.at("ms")));
    } else {
      throw Unmapped(absl::StrCat("the event '", op, "' is not mapped"));
    }
    got.push_back(nullptr);
  }
  return got;
}

}  // namespace marpc::vectors
