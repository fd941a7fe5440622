// marpc (breaker): a CircuitBreaker under a simulated clock.
#include "marpc/circuitbreaker/circuit_breaker.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "marpc/base/clock.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

// The calls of one case. A report belongs to the call whose tag it has; without a tag, to the probe
// that is out, else to the oldest call without one, else to a call that nobody mentioned: one
// admitted just now while CLOSED, or one of before the last transition.
class BreakerCase {
 public:
  explicit BreakerCase(const CircuitBreakerSettings& settings) {
    if (settings.enabled) breaker_ = std::make_unique<CircuitBreaker>(settings);
  }

  Json Apply(const Json& event) {
    const std::string op = event.at("op").get<std::string>();
    if (op == "advance") {
      clock_.Advance(Milliseconds(event.at("ms")));
      return State();
    }
    if (op == "acquire") return Acquire(TagOf(event));
    if (op == "call") return Call(event);
    if (op == "state") return State();
    if (op == "reset" || (op == "force" && event.at("to") == "CLOSED")) {
      if (breaker_ != nullptr) breaker_->Reset(clock_.Now());
      return State();
    }
    if (op != "ok" && op != "fail" && op != "business_error" && op != "release") {
      throw Unmapped(absl::StrCat("the event '", op, "' of a breaker is not mapped"));
    }
    if (event.contains("durMs")) clock_.Advance(Milliseconds(event["durMs"]));
    Report(op, event);
    return State();
  }

 private:
  struct AdmittedCall {
    std::string tag;
    CircuitBreaker::Permit permit;
  };

  // The key of a call's tag has no fixed name: it is what else the event says.
  static std::string TagOf(const Json& event) {
    static const auto& kKnown =
        *new std::set<std::string>{"op", "error", "ms", "durMs", "to", "late", "message", "result"};
    for (const auto& [key, value] : event.items()) {
      if (!kKnown.contains(key)) return value.dump();
    }
    return "";
  }

  Json Acquire(const std::string& tag) {
    CircuitBreaker::Admission admission{.allowed = true, .permit = {}, .retry_after = {}};
    if (breaker_ != nullptr) admission = breaker_->TryAcquire(clock_.Now());
    if (admission.allowed) calls_.push_back({tag, admission.permit});
    Json got = State();
    got["allowed"] = got["ran"] = admission.allowed;
    got["retryAfterMs"] = got["remainingMs"] = absl::ToInt64Milliseconds(admission.retry_after);
    return got;
  }

  Json Call(const Json& event) {
    const std::string result = event.at("result").get<std::string>();
    const Json own = {{"call", "its own"}};
    Json got = Acquire(TagOf(own));
    if (got["allowed"] == true) Report(result, own);
    got.update(State());
    return got;
  }

  void Report(const std::string& what, const Json& event) {
    if (breaker_ == nullptr) return;
    const CircuitBreaker::Permit permit =
        event.value("late", false) ? CircuitBreaker::Permit{} : TakePermit(TagOf(event));
    if (what == "ok" || what == "business_error") {
      breaker_->OnSuccess(permit, clock_.Now());
    } else if (what == "fail") {
      breaker_->OnFailure(permit, clock_.Now());
    } else if (what == "release") {
      breaker_->Release(permit);
    } else {
      throw Unmapped(absl::StrCat("the result '", what, "' of a call is not mapped"));
    }
  }

  CircuitBreaker::Permit TakePermit(const std::string& tag) {
    auto call = calls_.end();
    for (auto it = calls_.begin(); it != calls_.end(); ++it) {
      if (it->tag != tag) continue;
      if (call == calls_.end()) call = it;
      if (it->permit.probe) call = it;
    }
    if (call != calls_.end()) {
      const CircuitBreaker::Permit permit = call->permit;
      calls_.erase(call);
      return permit;
    }
    if (breaker_->state() != BreakerState::kClosed || !tag.empty()) return {};
    return breaker_->TryAcquire(clock_.Now()).permit;
  }

  Json State() const {
    if (breaker_ == nullptr) return {{"state", "CLOSED"}, {"failures", 0}, {"failureCount", 0}};
    const CircuitBreaker::Snapshot snapshot = breaker_->GetSnapshot(clock_.Now());
    return {{"state", std::string(BreakerStateName(snapshot.state))},
            {"failures", snapshot.failures},
            {"failureCount", snapshot.failures}};
  }

  SimulatedClock clock_;
  std::unique_ptr<CircuitBreaker> breaker_;  // null: off
  std::vector<AdmittedCall> calls_;
};

}  // namespace

Json RunCircuitBreaker(const VectorCase& vector) {
  CheckKeys(vector.config, "config",
            {"kind", "enabled", "faultLimit", "windowSizeMs", "halfOpenInitialDelayMs",
             "halfOpenDelayMs", "halfOpenProbes"});
  BreakerCase breaker(ToBreakerSettings(vector.config));
  Json got = Json::array();
  for (const Json& event : vector.input) got.push_back(breaker.Apply(event));
  return got;
}

}  // namespace marpc::vectors
