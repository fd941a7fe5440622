// The C++ of docs/guide/circuit-breaking.md.
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "marpc/circuitbreaker/breaker_call.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/consumer/consumer.h"
#include "marpc/observe/log.h"

namespace breaker_guide {

struct Row {
  std::string name;
};
struct Database {
  absl::StatusOr<Row> Query(int) { return Row{"first"}; }
};

}  // namespace breaker_guide

using breaker_guide::Database;
using breaker_guide::Row;

absl::StatusOr<Row> QueryBehindABreaker(Database& db, int id) {
  static marpc::CircuitBreaker breaker{marpc::BreakerRules{}};
  return breaker.Call([&] { return db.Query(id); });
}

void WatchBreakers(marpc::Consumer& consumer) {
  for (const auto& [name, now, events] : consumer.Breakers("demo.HelloService")) {
    marpc::Logger()->info("{} is {} with {} failures and {} refusals", name,
                          std::string(marpc::BreakerStateName(now.state)), now.failures,
                          now.refused);
  }
}

void WatchOutliers(marpc::Consumer& consumer) {
  const std::optional<marpc::OutlierSnapshot> outliers = consumer.Outliers("demo.HelloService");
  if (!outliers.has_value()) return;  // outlier.enabled is false
  for (const auto& [name, ejection, calls, errors_in_row] : outliers->instances) {
    marpc::Logger()->info(
        "{} is {}, {} of {} calls failed", name,
        ejection.ejected ? std::string(marpc::EjectionReasonName(ejection.reason)) : "in use",
        calls.failures, calls.calls);
  }
}

void WatchHealth(marpc::Consumer& consumer) {
  const std::optional<marpc::HealthSnapshot> health = consumer.Health("demo.HelloService");
  if (!health.has_value()) return;  // healthCheck.enabled is false
  for (const auto& [name, is] : health->instances) {
    marpc::Logger()->info("{} is {}: {}, {} failed checks in a row", name,
                          is.healthy ? "healthy" : "unhealthy",
                          std::string(marpc::HealthAnswerName(is.answer)), is.failures_in_row);
  }
}

absl::Status TakeOutOfService(marpc::Consumer& consumer) {
  return consumer.ForceBreaker("demo.HelloService@10.0.0.7:8080", marpc::BreakerState::kForcedOpen);
}

absl::Status TakeOutEverywhere(marpc::Consumer& consumer) {
  return consumer.ForceBreakerEverywhere("demo.HelloService@10.0.0.7:8080",
                                         marpc::BreakerState::kForcedOpen);
}

marpc::ConsumerOptions HearOfTransitions() {
  marpc::ConsumerOptions options;
  options.on_breaker_transition = [](absl::string_view name,
                                     const marpc::CircuitBreaker::Transition& transition) {
    marpc::Logger()->warn("{} is {} by {}", std::string(name),
                          std::string(marpc::BreakerStateName(transition.to)),
                          std::string(marpc::BreakerReasonName(transition.reason)));
  };
  return options;
}
