// The words that several kinds share, in marpc's terms.
#ifndef MARPC_TESTS_VECTORS_MAPPING_H_
#define MARPC_TESTS_VECTORS_MAPPING_H_

#include <memory>

#include "absl/status/status.h"
#include "google/protobuf/struct.pb.h"
#include "marpc/config/settings.h"
#include "marpc/loadbalance/load_balancer.h"
#include "tests/support/simulated_service.h"
#include "tests/vectors/vector_case.h"

namespace marpc::vectors {

absl::Duration Milliseconds(const Json& ms);
// A bucket of Hyperf's starts with one second's floor, and holds what the floor brings in a ttl
// (without a floor, no bound).
void AsHyperf(RetryBudgetSettings& settings);

// {enabled, faultLimit, windowSizeMs, halfOpenInitialDelayMs, halfOpenDelayMs}; null: off. The
// vectors' breaker forgets its failures at a success, which marpc's does when told to.
CircuitBreakerSettings ToBreakerSettings(const Json& config);

// "roundrobin" from its first instance on, or "random".
std::unique_ptr<LoadBalancer> ToBalancer(const Json& name);

// What an instance does in one attempt: "ok", "NETWORK", {"ok": value}, {"fail": code}, {"hangMs":
// n}, {"response": {...}} or {"status": ..., "data": ...}, each with an optional tookMs.
testing::SimulatedAttempt ToAttempt(const Json& outcome);

// A call's requests are google.protobuf.ListValue, its replies google.protobuf.Value.
google::protobuf::Value ToValue(const Json& json);
Json FromValue(const google::protobuf::Value& value);

// "error:NETWORK_ERROR" and so on. Business errors carry their message, in any of the vectors'
// spellings.
Json ErrorText(const absl::Status& status);
// ErrorText(), or "ok:" and the value.
Json SessionResult(const absl::Status& status, const google::protobuf::Value& reply);

}  // namespace marpc::vectors

#endif  // MARPC_TESTS_VECTORS_MAPPING_H_
