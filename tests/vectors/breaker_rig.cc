#include "tests/vectors/breaker_rig.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

// The key of a call's tag has no fixed name: it is what else the event says.
std::string TagOf(const Json& event) {
  static const auto& known = *new std::set<std::string>{
      "op", "error", "ms", "durMs", "tookMs", "to", "late", "message", "result", "service"};
  for (const auto& [key, value] : event.items()) {
    if (!known.contains(key)) return value.dump();
  }
  return "";
}

Json StateNames(BreakerState state) {
  if (state == BreakerState::kForcedOpen) return OneOf({"FORCED_OPEN", "ISOLATED"});
  return std::string(BreakerStateName(state));
}

}  // namespace

void CheckRules(const BreakerRules& rules) {
  if (const absl::Status valid = CircuitBreaker::Validate(rules); !valid.ok()) {
    throw Unmapped(std::string(valid.message()));
  }
}

BreakerRig::BreakerRig(SimulatedClock& clock, const BreakerRules* rules, BreakerHabits habits)
    : clock_(clock), habits_(std::move(habits)) {
  if (rules == nullptr) return;
  CheckRules(*rules);
  breaker_ = std::make_unique<CircuitBreaker>(*rules);
}

void BreakerRig::Advance(absl::Duration by) {
  clock_.Advance(by);
  if (breaker_ == nullptr) return;
  const bool half_open = breaker_->state() == BreakerState::kHalfOpen;
  if (half_open ? habits_.half_open_has_timer : habits_.open_has_timer) {
    breaker_->CatchUp(clock_.Now());
  }
}

void BreakerRig::Force(const std::string& to) {
  static const auto& states = *new std::map<std::string, BreakerState>{
      {"CLOSED", BreakerState::kClosed},           {"OPEN", BreakerState::kOpen},
      {"HALF_OPEN", BreakerState::kHalfOpen},      {"FORCED_OPEN", BreakerState::kForcedOpen},
      {"ISOLATED", BreakerState::kForcedOpen},     {"DISABLED", BreakerState::kDisabled},
      {"METRICS_ONLY", BreakerState::kMetricsOnly}};
  const auto state = states.find(to);
  if (state == states.end()) throw Unmapped(absl::StrCat("the state '", to, "' is not mapped"));
  if (breaker_ != nullptr) breaker_->Force(state->second, clock_.Now());
}

Json BreakerRig::Apply(const Json& event) {
  const std::string op = event.at("op").get<std::string>();
  if (op == "advance") {
    Advance(Milliseconds(event.at("ms")));
    return State();
  }
  if (op == "acquire") return Acquire(TagOf(event));
  if (op == "call") return Call(event);
  if (op == "state") return State();
  if (op == "force") {
    Force(event.at("to").get<std::string>());
    return State();
  }
  if (op == "isolate") {
    Force("ISOLATED");
    return State();
  }
  if (op == "reset" || op == "close") {
    if (breaker_ != nullptr) breaker_->Reset(clock_.Now());
    return State();
  }
  if (op != "ok" && op != "fail" && op != "business_error" && op != "release") {
    throw Unmapped(absl::StrCat("the event '", op, "' of a breaker is not mapped"));
  }
  if (event.contains("durMs") && !habits_.durations_are_told) {
    clock_.Advance(Milliseconds(event["durMs"]));
  }
  Report(op, event);
  return State();
}

Json BreakerRig::Acquire(const std::string& tag) {
  CircuitBreaker::Admission admission;
  admission.allowed = true;
  if (breaker_ != nullptr) admission = breaker_->TryAcquire(clock_.Now());
  if (admission.allowed) calls_.push_back({tag, admission.permit});
  Json got = State();
  got["allowed"] = got["ran"] = admission.allowed;
  got["retryAfterMs"] = got["remainingMs"] = absl::ToInt64Milliseconds(admission.retry_after);
  return got;
}

Json BreakerRig::Call(const Json& event) {
  const std::string result = event.at("result").get<std::string>();
  Json own = {{"call", "its own"}};
  if (event.contains("error")) own["error"] = event["error"];
  Json got = Acquire(TagOf(own));
  if (event.contains("tookMs")) clock_.Advance(Milliseconds(event["tookMs"]));
  if (got["allowed"] == true) Report(result, own);
  got.update(State());
  return got;
}

void BreakerRig::Report(const std::string& what, const Json& event) {
  if (breaker_ == nullptr) return;
  CircuitBreaker::Permit permit =
      event.value("late", false) ? CircuitBreaker::Permit{} : TakePermit(TagOf(event));
  if (event.contains("durMs") && habits_.durations_are_told) {
    permit.started_at = clock_.Now() - Milliseconds(event["durMs"]);
  }
  BreakerVerdict verdict = BreakerVerdict::kSuccess;
  if (what == "fail") {
    verdict = habits_.judge == nullptr ? BreakerVerdict::kFailure
                                       : habits_.judge(event.value("error", "X"));
  } else if (what == "release") {
    verdict = BreakerVerdict::kNothing;
  } else if (what != "ok" && what != "business_error") {
    throw Unmapped(absl::StrCat("the result '", what, "' of a call is not mapped"));
  }
  switch (verdict) {
    case BreakerVerdict::kSuccess:
      return breaker_->OnSuccess(permit, clock_.Now());
    case BreakerVerdict::kFailure:
      return breaker_->OnFailure(permit, clock_.Now());
    case BreakerVerdict::kNothing:
      return breaker_->Release(permit);
  }
}

CircuitBreaker::Permit BreakerRig::TakePermit(const std::string& tag) {
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
  const BreakerState state = breaker_->state();
  const bool admits = state == BreakerState::kClosed || state == BreakerState::kMetricsOnly ||
                      (state == BreakerState::kHalfOpen && habits_.results_come_alone);
  if (!admits || !tag.empty()) return {};
  return breaker_->TryAcquire(clock_.Now()).permit;
}

Json BreakerRig::State() const {
  if (breaker_ == nullptr) return {{"state", "CLOSED"}, {"failures", 0}, {"failureCount", 0}};
  const CircuitBreaker::Snapshot now = breaker_->GetSnapshot(clock_.Now());
  return {{"state", StateNames(now.state)}, {"open", now.state != BreakerState::kClosed},
          {"failures", now.failures},       {"failureCount", now.failures},
          {"calls", now.calls.calls},       {"failedCalls", now.calls.failed},
          {"slowCalls", now.calls.slow},    {"successes", now.successes},
          {"successCount", now.successes}};
}

}  // namespace marpc::vectors
