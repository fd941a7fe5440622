// hyperf_cb and spring_cb (breaker): breakers around whole calls.
#include <string>

#include "absl/strings/str_cat.h"
#include "marpc/circuitbreaker/breaker_call.h"
#include "tests/vectors/breaker_rig.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

constexpr absl::Duration kStrictly = absl::Nanoseconds(1);
constexpr int kManyProbes = 1000;

}  // namespace

// A call that is slower than the timeout is a failure; other errors are nothing. Who calls decides
// by a draw whether a half-open call is made: what is not made gives its permit back, and so does
// the call that found it half-open.
Json RunHyperfBreaker(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "durationMs", "failCounter", "successCounter", "timeoutMs", "attemptDraws"});
  BreakerRules rules;
  rules.fault_limit = config.value("failCounter", 10);
  rules.window_size = Milliseconds(config.value("durationMs", Json(10000)));
  rules.slow_calls_fail = true;
  rules.slow_call_duration = Milliseconds(config.value("timeoutMs", Json(5000)));
  rules.half_open_initial_delay = rules.half_open_delay = rules.window_size;
  rules.half_open_probes = kManyProbes;
  rules.half_open_successes = config.value("successCounter", 10);
  rules.half_open_failures = rules.fault_limit;
  const Json draws = config.value("attemptDraws", Json::array());
  size_t next_draw = 0;
  SimulatedClock clock;
  CircuitBreaker breaker(rules);
  const auto made = [&](BreakerState before) {
    if (before == BreakerState::kClosed) return true;
    if (before == BreakerState::kOpen) return false;
    if (next_draw == draws.size()) throw Unmapped("there are too few attemptDraws");
    return draws[next_draw++].get<bool>();
  };
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"op", "tookMs", "throws", "ms"});
    const std::string op = event.at("op").get<std::string>();
    Json result = Json::object();
    if (op == "advance") {
      clock.Advance(Milliseconds(event.at("ms")));
    } else if (op == "call") {
      const BreakerState before = breaker.state();
      const CircuitBreaker::Admission admission = breaker.TryAcquire(clock.Now());
      const bool ran = admission.allowed && made(before);
      result = {{"ran", ran}, {"answer", "fallback"}};
      if (ran) {
        clock.Advance(Milliseconds(event.value("tookMs", Json(0))));
        result["answer"] = event.contains("throws")
                               ? absl::StrCat("error:", event["throws"].get<std::string>())
                               : "result";
      }
      if (ran && !event.contains("throws")) {
        breaker.OnSuccess(admission.permit, clock.Now());
      } else if (admission.allowed) {
        breaker.Release(admission.permit);
      }
    } else if (op != "state") {
      throw Unmapped(absl::StrCat("the event '", op, "' is not mapped"));
    }
    result["state"] = std::string(BreakerStateName(breaker.state()));
    got.push_back(result);
  }
  return got;
}

// No probes: closed when the time is over. The recovery is the caller's fallback.
Json RunSpringBreaker(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "maxAttempts", "openTimeoutMs", "resetTimeoutMs", "recover", "throwLast"});
  BreakerRules rules;
  rules.fault_limit = config.value("maxAttempts", 3);
  rules.window_size = Milliseconds(config.value("openTimeoutMs", Json(5000))) + kStrictly;
  rules.half_open_initial_delay = rules.half_open_delay =
      Milliseconds(config.value("resetTimeoutMs", Json(20000))) + kStrictly;
  rules.half_open = false;
  const Json recover = config.value("recover", Json());
  const bool throw_last = config.value("throwLast", false);
  SimulatedClock clock;
  CircuitBreaker breaker(rules);
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"op", "result", "ms"});
    const std::string op = event.at("op").get<std::string>();
    Json result = Json::object();
    if (op == "advance") {
      clock.Advance(Milliseconds(event.at("ms")));
    } else if (op == "call") {
      bool ran = false;
      const BreakerCall call{.clock = clock};
      const absl::Status status = breaker.Call(
          [&] {
            ran = true;
            return event.at("result") == "ok" ? absl::OkStatus() : absl::UnavailableError("down");
          },
          call);
      result["ran"] = ran;
      if (status.ok()) {
        result["answer"] = "RESULT";
      } else if (!recover.is_null()) {
        result["answer"] = recover;
      } else {
        result["answer"] =
            throw_last
                ? Json("error:LAST")
                : OneOf({"error:EXHAUSTED", "error:ExhaustedRetryException", "error:Exhausted"});
      }
    } else if (op != "state") {
      throw Unmapped(absl::StrCat("the event '", op, "' is not mapped"));
    }
    const BreakerState state = breaker.state();
    result["open"] = state != BreakerState::kClosed;
    result["state"] = std::string(BreakerStateName(state));
    got.push_back(result);
  }
  return got;
}

}  // namespace marpc::vectors
