// marpc_session (retry-session): a CallSession over simulated instances.
// marpc (classifier): the same with one retry at hand: is it made?
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/simulated_service.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

using testing::SimulatedService;

SimulatedService::Options ServiceOf(const Json& config) {
  SimulatedService::Options options;
  options.name = "vectors.Session";
  options.instances = config.at("instances").get<std::vector<std::string>>();
  options.balancer = ToBalancer(config.value("lb", Json("roundrobin")));
  RetrySettings& retry = options.settings.retry;
  retry.max_retries = config.value("maxRetries", retry.max_retries);
  retry.switch_instance_on_retry =
      config.value("switchInstanceOnRetry", retry.switch_instance_on_retry);
  if (config.contains("timeoutMs")) retry.timeout = Milliseconds(config["timeoutMs"]);
  if (config.contains("totalTimeoutMs")) {
    retry.total_timeout = Milliseconds(config["totalTimeoutMs"]);
  }
  // The vectors retry every network failure: their methods are idempotent.
  retry.idempotent = config.value("idempotent", true);
  options.settings.circuit_breaker = ToBreakerSettings(config.value("breaker", Json()));
  options.settings.circuit_breaker.enabled &= config.contains("breaker");
  return options;
}

// The outcomes of the script in turn; one that is used up is a fault of the line, unless its last
// outcome repeats.
testing::SimulatedBackend Scripted(const Json& script, bool repeat_last) {
  return [script, repeat_last, next = size_t{0}](const std::string&, const Step&) mutable {
    if (next >= script.size() && (!repeat_last || script.empty())) {
      throw Unmapped(absl::StrCat("the script has no outcome for attempt ", next + 1));
    }
    return ToAttempt(script[std::min(next++, script.size() - 1)]);
  };
}

// The source speaks of its retries even where there was none.
std::string MessageOf(const testing::SimulatedResult& result) {
  const std::string message(result.status.message());
  return result.instances.size() == 1 ? absl::StrCat(message, "; retried 0 times") : message;
}

Json Describe(const testing::SimulatedResult& result, const google::protobuf::Value& reply,
              SimulatedService& service) {
  Json got = {{"attempts", result.instances.size()},
              {"instances", result.instances},
              {"result", SessionResult(result.status, reply)},
              {"message", Containing(MessageOf(result))},
              {"elapsedMs", absl::ToInt64Milliseconds(result.elapsed)},
              {"breakerState", "CLOSED"},
              {"breakerFailures", 0}};
  Json sleeps = Json::array();
  for (const absl::Duration wait : result.waits) sleeps.push_back(absl::ToInt64Milliseconds(wait));
  got["sleepsMs"] = got["delaysMs"] = sleeps;
  if (service.breaker() != nullptr) {
    const CircuitBreaker::Snapshot breaker = service.breaker()->GetSnapshot(service.clock().Now());
    got["breakerState"] = std::string(BreakerStateName(breaker.state));
    got["breakerFailures"] = breaker.failures;
  }
  return got;
}

Json OneCall(SimulatedService& service, const Json& script, bool repeat_last) {
  google::protobuf::Value reply;
  SimulatedService::CallOptions call;
  call.reply = &reply;
  const testing::SimulatedResult result = service.Call(Scripted(script, repeat_last), call);
  return Describe(result, reply, service);
}

// `"shape": "calls"`: several calls and what happens between them.
Json Calls(SimulatedService& service, const Json& events, bool repeat_last) {
  Json got = Json::array();
  for (const Json& event : events) {
    const std::string op = event.at("op").get<std::string>();
    if (op == "call") {
      got.push_back(OneCall(service, event.at("script"), event.value("repeatLast", repeat_last)));
    } else if (op == "advance") {
      service.clock().Advance(Milliseconds(event.at("ms")));
      got.push_back(nullptr);
    } else if (op == "instances") {
      service.SetInstances(event.at("instances").get<std::vector<std::string>>());
      got.push_back(nullptr);
    } else {
      throw Unmapped(absl::StrCat("the event '", op, "' of a session is not mapped"));
    }
  }
  return got;
}

int AttemptsWithOneRetry(SimulatedService& service, const testing::SimulatedAttempt& outcome) {
  return static_cast<int>(service.Call(testing::InTurn({outcome})).instances.size());
}

SimulatedService::Options OneRetry() {
  SimulatedService::Options options;
  options.name = "vectors.Classifier";
  options.instances = {"a", "b"};
  options.settings.retry.max_retries = 1;
  return options;
}

// The framework's own refusals end a call before any attempt, and stay final.
Json ClassifyRefusal(const std::string& code) {
  SimulatedService::Options options = OneRetry();
  if (code == "NO_AVAILABLE_INSTANCE") {
    options.instances = {};
  } else if (code == "CIRCUIT_BREAKER_OPEN") {
    options.settings.circuit_breaker.enabled = true;
    options.settings.circuit_breaker.fault_limit = 1;
  } else {
    throw Unmapped(absl::StrCat("the framework error '", code, "' is not mapped"));
  }
  SimulatedService service(std::move(options));
  if (service.breaker() != nullptr) {
    service.breaker()->OnFailure(service.breaker()->TryAcquire(service.clock().Now()).permit,
                                 service.clock().Now());
  }
  const testing::SimulatedResult result = service.Call(testing::InTurn({testing::Answer()}));
  if (result.reason() != code) return absl::StrCat("got ", result.reason());
  return result.instances.size() > 1 ? "retry" : "stop";
}

testing::SimulatedAttempt ErrorOfAttempt(const std::string& error, const std::string& code) {
  if (error == "MarpcNetworkException" && code != "RESPONSE_PARSE_ERROR") {
    return testing::LostRequest();
  }
  testing::SimulatedAttempt attempt;
  if (code == "RESPONSE_PARSE_ERROR") {
    // The peer has answered, and would answer the same again.
    attempt.outcome.status = absl::InternalError("the answer cannot be read");
    attempt.outcome.source = AttemptOutcome::Source::kLocal;
    return attempt;
  }
  if (code == "SERVICE_NOT_FOUND" || code == "METHOD_NOT_FOUND") {
    attempt.outcome.status = absl::UnimplementedError(code);
    attempt.outcome.source = AttemptOutcome::Source::kPeer;
    return attempt;
  }
  if (error == "MarpcBizException") {
    return testing::HandlerFails(absl::StatusCode::kUnknown, "business");
  }
  throw Unmapped(absl::StrCat("the error '", error, "' with the code '", code, "' is not mapped"));
}

}  // namespace

Json RunSession(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "shape", "maxRetries", "timeoutMs", "totalTimeoutMs", "switchInstanceOnRetry",
             "instances", "lb", "breaker", "draws", "repeatLast", "idempotent"});
  SimulatedService service(ServiceOf(config));
  for (const Json& draw : config.value("draws", Json::array())) {
    service.random().draws.push_back(draw.get<double>());
  }
  const bool repeat_last = config.value("repeatLast", false);
  if (config.value("shape", "") == "calls") return Calls(service, vector.input, repeat_last);
  return Json::array({OneCall(service, vector.input, repeat_last)});
}

Json RunClassifier(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"error", "code", "message", "response"});
    const std::string error = event.value("error", "");
    const std::string code = event.value("code", "");
    if (error == "MarpcFrameworkException" &&
        (code == "NO_AVAILABLE_INSTANCE" || code == "CIRCUIT_BREAKER_OPEN")) {
      got.push_back(ClassifyRefusal(code));
      continue;
    }
    SimulatedService service(OneRetry());
    const int attempts = AttemptsWithOneRetry(
        service, event.contains("response") ? ToAttempt(event) : ErrorOfAttempt(error, code));
    got.push_back(attempts > 1 ? "retry" : "stop");
  }
  return got;
}

}  // namespace marpc::vectors
