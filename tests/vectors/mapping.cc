#include "tests/vectors/mapping.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/loadbalance/random_balancer.h"
#include "marpc/loadbalance/round_robin.h"

namespace marpc::vectors {
namespace {

using testing::SimulatedAttempt;

SimulatedAttempt Answering(const Json& data) {
  SimulatedAttempt attempt = testing::Answer();
  attempt.fill = [value = ToValue(data)](google::protobuf::MessageLite* reply) {
    reply->CheckTypeAndMergeFrom(value);
  };
  return attempt;
}

SimulatedAttempt Responding(const Json& response) {
  CheckKeys(response, "response", {"status", "data", "errorMessage", "tookMs"});
  if (response.at("status").get<bool>()) return Answering(response.value("data", Json()));
  return testing::HandlerFails(absl::StatusCode::kUnknown, response.value("errorMessage", ""));
}

SimulatedAttempt Failing(const std::string& code, const std::string& message) {
  if (code == "NETWORK" || code == "NETWORK_ERROR" || code == "MarpcNetworkException") {
    return testing::LostRequest();
  }
  if (code == "TIMEOUT") return testing::Hang();
  if (code == "BUSINESS" || code == "business_error" || code == "BIZ") {
    return testing::HandlerFails(absl::StatusCode::kUnknown, message);
  }
  throw Unmapped(absl::StrCat("the failure '", code, "' is not mapped"));
}

SimulatedAttempt Hanging(const Json& outcome) {
  SimulatedAttempt attempt = Answering(outcome.value("ok", Json()));
  attempt.takes = Milliseconds(outcome.at("hangMs"));
  return attempt;
}

SimulatedAttempt Outcome(const Json& outcome) {
  if (outcome.contains("status")) return Responding(outcome);
  CheckKeys(outcome, "outcome", {"ok", "fail", "message", "response", "hangMs", "tookMs"});
  if (outcome.contains("response")) return Responding(outcome["response"]);
  if (outcome.contains("hangMs")) return Hanging(outcome);
  if (outcome.contains("fail")) {
    return Failing(outcome["fail"].get<std::string>(), outcome.value("message", ""));
  }
  return Answering(outcome.at("ok"));
}

std::string Text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

absl::Duration Milliseconds(const Json& ms) {
  // As a double, a large whole number would be another one.
  return ms.is_number_integer() ? absl::Milliseconds(ms.get<int64_t>())
                                : absl::Milliseconds(ms.get<double>());
}

void AsHyperf(RetryBudgetSettings& settings) {
  settings.initial = settings.min_retries_per_sec;
  settings.burst =
      static_cast<int>(settings.min_retries_per_sec * absl::ToDoubleSeconds(settings.ttl));
}

CircuitBreakerSettings ToBreakerSettings(const Json& config) {
  CircuitBreakerSettings settings;
  settings.success_resets = true;
  if (config.is_null()) return settings;
  settings.enabled = config.value("enabled", true);
  settings.fault_limit = config.value("faultLimit", settings.fault_limit);
  const auto duration = [&](const char* key, absl::Duration& to) {
    if (config.contains(key)) to = Milliseconds(config[key]);
  };
  duration("windowSizeMs", settings.window_size);
  duration("halfOpenInitialDelayMs", settings.half_open_initial_delay);
  duration("halfOpenDelayMs", settings.half_open_delay);
  settings.half_open_probes = config.value("halfOpenProbes", settings.half_open_probes);
  if (const absl::Status valid = CircuitBreaker::Validate(settings); !valid.ok()) {
    throw Unmapped(std::string(valid.message()));
  }
  return settings;
}

std::unique_ptr<LoadBalancer> ToBalancer(const Json& name) {
  if (name == "roundrobin") return std::make_unique<RoundRobin>(0);
  if (name == "random") return std::make_unique<RandomBalancer>();
  throw Unmapped(absl::StrCat("the balancer ", name.dump(), " is not mapped"));
}

testing::SimulatedAttempt ToAttempt(const Json& outcome) {
  if (outcome.is_string()) {
    return outcome == "ok" ? Answering("ok") : Failing(outcome.get<std::string>(), "");
  }
  SimulatedAttempt attempt = Outcome(outcome);
  if (outcome.contains("tookMs")) attempt.takes = Milliseconds(outcome["tookMs"]);
  return attempt;
}

google::protobuf::Value ToValue(const Json& json) {
  google::protobuf::Value value;
  switch (json.type()) {
    case Json::value_t::null:
      value.set_null_value(google::protobuf::NULL_VALUE);
      break;
    case Json::value_t::boolean:
      value.set_bool_value(json.get<bool>());
      break;
    case Json::value_t::string:
      value.set_string_value(json.get<std::string>());
      break;
    case Json::value_t::array:
      value.mutable_list_value();
      for (const Json& element : json) *value.mutable_list_value()->add_values() = ToValue(element);
      break;
    case Json::value_t::object:
      value.mutable_struct_value();
      for (const auto& [key, element] : json.items()) {
        (*value.mutable_struct_value()->mutable_fields())[key] = ToValue(element);
      }
      break;
    default:
      value.set_number_value(json.get<double>());
  }
  return value;
}

Json FromValue(const google::protobuf::Value& value) {
  switch (value.kind_case()) {
    case google::protobuf::Value::kBoolValue:
      return value.bool_value();
    case google::protobuf::Value::kStringValue:
      return value.string_value();
    case google::protobuf::Value::kNumberValue: {
      const double number = value.number_value();
      const auto whole = static_cast<int64_t>(number);
      return static_cast<double>(whole) == number ? Json(whole) : Json(number);
    }
    case google::protobuf::Value::kListValue: {
      Json list = Json::array();
      for (const auto& element : value.list_value().values()) list.push_back(FromValue(element));
      return list;
    }
    case google::protobuf::Value::kStructValue: {
      Json object = Json::object();
      for (const auto& [key, element] : value.struct_value().fields()) {
        object[key] = FromValue(element);
      }
      return object;
    }
    case google::protobuf::Value::kNullValue:
    case google::protobuf::Value::KIND_NOT_SET:
      break;
  }
  return nullptr;
}

Json ErrorText(const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (!info.has_value()) return absl::StrCat("error:", status.ToString());
  if (info->origin() == ErrorInfo::NETWORK) return "error:NETWORK_ERROR";
  if (info->origin() == ErrorInfo::FRAMEWORK) return absl::StrCat("error:", info->reason());
  const std::string message(status.message());
  return OneOf({absl::StrCat("error:BUSINESS(", message, ")"),
                absl::StrCat("error:BUSINESS:", message), absl::StrCat("error:", message),
                "error:BUSINESS", "error:BUSINESS_ERROR"});
}

Json SessionResult(const absl::Status& status, const google::protobuf::Value& reply) {
  return status.ok() ? Json(absl::StrCat("ok:", Text(FromValue(reply)))) : ErrorText(status);
}

}  // namespace marpc::vectors
