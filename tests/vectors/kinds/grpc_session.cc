// grpc_session, grpc_policy_validate: a marpc::Retry with the policies of a gRPC retryPolicy.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/retry/grpc_retry_policy.h"
#include "marpc/retry/retry.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"
#include "tests/vectors/retry_rig.h"

namespace marpc::vectors {
namespace {

GrpcRetryPolicy ToPolicy(const Json& json) {
  CheckKeys(json, "retryPolicy",
            {"maxAttempts", "initialBackoffMs", "maxBackoffMs", "backoffMultiplier",
             "retryableStatusCodes"});
  GrpcRetryPolicy policy;
  policy.max_attempts = json.at("maxAttempts").get<int>();
  policy.initial_backoff = Milliseconds(json.at("initialBackoffMs"));
  policy.max_backoff = Milliseconds(json.at("maxBackoffMs"));
  policy.backoff_multiplier = json.at("backoffMultiplier").get<double>();
  for (const Json& code : json.at("retryableStatusCodes")) {
    policy.retryable_status_codes.push_back(NamedError(code.get<std::string>(), "").code());
  }
  return policy;
}

std::shared_ptr<RetryThrottle> ToThrottle(const Json& json) {
  CheckKeys(json, "throttle", {"maxTokens", "tokenRatio", "startTokens"});
  RetryThrottleSettings settings;
  settings.enabled = true;
  settings.max_tokens = json.at("maxTokens").get<int>();
  settings.token_ratio = json.at("tokenRatio").get<double>();
  auto throttle = std::make_shared<RetryThrottle>(settings);
  const double start = json.value("startTokens", static_cast<double>(settings.max_tokens));
  while (throttle->tokens() > start) throttle->OnFailure();
  if (throttle->tokens() != start) throw Unmapped("startTokens must be whole");
  return throttle;
}

}  // namespace

Json RunGrpcSession(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "retryPolicy", "throttle", "deadlineMs", "repeatLast", "draw", "draws"});
  RetryRig rig(config);
  std::shared_ptr<RetryThrottle> throttle;
  if (config.contains("throttle")) throttle = ToThrottle(config["throttle"]);
  auto policies = ToPolicies(ToPolicy(config.at("retryPolicy")), throttle);
  if (!policies.ok()) throw Unmapped(std::string(policies.status().message()));
  RetryReport report;
  RetryCall call{.report = &report};
  const MonotonicTime started = rig.clock().Now();
  if (config.contains("deadlineMs")) call.deadline = started + Milliseconds(config["deadlineMs"]);
  const Returned result =
      rig.Under(Retry::With(*std::move(policies)))
          .Call(rig.Script(vector.input, config.value("repeatLast", false)), call);
  Json got = DescribeCall(report, result, rig.clock().Now() - started);
  if (throttle != nullptr) got["tokens"] = throttle->tokens();
  return Json::array({got});
}

Json RunGrpcPolicyValidation(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  Json got = Json::array();
  for (const Json& event : vector.input) {
    Json json = {{"maxAttempts", 4},
                 {"initialBackoffMs", 100},
                 {"maxBackoffMs", 1000},
                 {"backoffMultiplier", 2},
                 {"retryableStatusCodes", {"UNAVAILABLE"}}};
    json.update(event);
    const GrpcRetryPolicy policy = ToPolicy(json);
    const auto policies = ToPolicies(policy);
    // What is valid can be used for a call.
    if (!policies.ok() || !Retry::With(*policies).Call([] { return absl::OkStatus(); }).ok()) {
      got.push_back("invalid");
    } else if (policy.effective_max_attempts() != policy.max_attempts) {
      got.push_back(absl::StrCat("ok(as ", policy.effective_max_attempts(), ")"));
    } else {
      got.push_back("ok");
    }
  }
  return got;
}

}  // namespace marpc::vectors
