// Which instance an attempt goes to, and the permits that it takes.
#include <algorithm>

#include "marpc/invoker/call_session.h"
#include "marpc/invoker/hash_key.h"

namespace marpc {
namespace {

// Picks that breakers may refuse, one instance after the other: a race for the last probe, or
// ramps. After that an attempt takes an instance whose breaker lets every call through, or is given
// up.
constexpr int kMaxPicks = 16;

void Count(std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

class BothGates final : public InstanceGate {
 public:
  BothGates(const InstanceGate& a, const InstanceGate& b) : a_(a), b_(b) {}
  bool MayTake(const LiveInstance* instance, MonotonicTime now) const override {
    return a_.MayTake(instance, now) && b_.MayTake(instance, now);
  }
  bool IsToBeProbed(const LiveInstance* instance, MonotonicTime now) const override {
    return a_.IsToBeProbed(instance, now) || b_.IsToBeProbed(instance, now);
  }

 private:
  const InstanceGate& a_;
  const InstanceGate& b_;
};

}  // namespace

const InstanceBreakers* CallSession::instance_breakers() const {
  const int group = policy_->breakers.instance_group;
  const auto& groups = state().instance_breakers;
  // A state of before the method's first call knows nothing of its group.
  if (group < 0 || static_cast<size_t>(group) >= groups.size()) return nullptr;
  return groups[group].get();
}

bool CallSession::PickAdmitted(InFlight& attempt, const Moment& moment) {
  passed_over_.clear();
  refusal_ = {};
  const InstanceBreakers* breakers = instance_breakers();
  const bool gated = breakers != nullptr && breakers->AnyRefuses();
  MonotonicTime until;
  if (gated && breakers->AllRefuse(moment.now, &until)) {
    refusal_.refusal = until.is_infinite() ? BreakerRefusal::kForcedOpen : BreakerRefusal::kOpen;
    if (!until.is_infinite()) refusal_.retry_after = until - moment.now;
    return false;
  }
  const Ejections* ejections = state().ejections.get();
  ejected_too_ = true;
  if (ejections != nullptr) {
    ejections->CatchUp(moment.now, moment.random);
    if (ejections->AnyEjected()) {
      ejected_too_ = ejections->InPanic();
      if (ejected_too_) Count(state().counters->panic_picks);
    }
  }
  unhealthy_too_ = state().health == nullptr || !state().health->AnyUnhealthy();
  if (PickPreferred(attempt, breakers, moment)) return true;
  if (attempt.hedge) return false;
  if (refusal_.refusal == BreakerRefusal::kNone && gated) {
    // Those that the routers leave may all be left alone, while others are not.
    const LiveInstance* alone = PickNot({}, moment, nullptr);
    CircuitBreaker* breaker = alone == nullptr ? nullptr : breakers->Of(alone);
    if (breaker != nullptr && !breaker->MayAdmit(moment.now)) {
      refusal_ = breaker->TryAcquire(moment.now);
    }
  }
  return false;
}

bool CallSession::PickPreferred(InFlight& attempt, const InstanceBreakers* breakers,
                                const Moment& moment) {
  if (ejected_too_ && unhealthy_too_) return PickAmong(attempt, breakers, moment);
  const auto tried = tried_;
  if (PickAmong(attempt, breakers, moment)) return true;
  // A hedge is not needed.
  if (attempt.hedge) return false;
  // Ejections and health checks refuse no call. What an instance says of itself counts for more
  // than how it does beside others.
  if (!ejected_too_) {
    ejected_too_ = true;
    tried_ = tried;
    if (PickAmong(attempt, breakers, moment)) {
      Count(state().counters->panic_picks);
      return true;
    }
  }
  if (unhealthy_too_) return false;
  unhealthy_too_ = true;
  tried_ = tried;
  if (!PickAmong(attempt, breakers, moment)) return false;
  Count(state().counters->unhealthy_picks);
  return true;
}

bool CallSession::PickAmong(InFlight& attempt, const InstanceBreakers* breakers,
                            const Moment& moment) {
  for (int picks = 0; picks <= kMaxPicks; ++picks) {
    admitting_all_only_ = picks == kMaxPicks;
    attempt.instance = attempt.hedge ? PickOther(moment) : PickInstance(moment);
    attempt.listener = picked_listener_;
    if (attempt.instance == nullptr) return false;
    CircuitBreaker* breaker = breakers == nullptr ? nullptr : breakers->Of(attempt.instance);
    if (breaker == nullptr || Acquire(attempt, *breaker, moment.now)) return true;
    passed_over_.push_back(attempt.instance);
  }
  attempt.instance = nullptr;
  return false;
}

LiveInstance* CallSession::PickUntried(absl::Span<const LiveInstance* const> tried,
                                       const Moment& moment) {
  const InstanceBreakers* breakers = instance_breakers();
  const InstanceGate* gate = breakers != nullptr && breakers->AnyRefuses() ? breakers : nullptr;
  if (admitting_all_only_) gate = &breakers->admitting_all();
  std::optional<BothGates> with_ejections, with_health;
  const auto add = [&gate](const InstanceGate& other, std::optional<BothGates>& both) {
    gate = gate == nullptr ? &other : &both.emplace(*gate, other);
  };
  if (!ejected_too_) add(*state().ejections, with_ejections);
  if (!unhealthy_too_) add(*state().health, with_health);
  if (passed_over_.empty()) return PickNot(tried, moment, gate);
  absl::InlinedVector<const LiveInstance*, 8> not_these(tried.begin(), tried.end());
  not_these.insert(not_these.end(), passed_over_.begin(), passed_over_.end());
  return PickNot(not_these, moment, gate);
}

LiveInstance* CallSession::PickNot(absl::Span<const LiveInstance* const> these,
                                   const Moment& moment, const InstanceGate* gate) {
  const ServiceState& service = state();
  const RouteQuery route{*input_.method, *input_.context, moment.random};
  const bool any_unreachable =
      service.counters->unreachable_instances.load(std::memory_order_relaxed) > 0;
  const SlowStart* slow_start = service.slow_start.get();
  if (slow_start != nullptr && !slow_start->AnyWarming(moment.now)) slow_start = nullptr;
  const PickQuery query{these, moment.random, moment.now, any_unreachable, gate, slow_start, hash_};
  const RouteTree::Picked picked = service.routes->Pick(route, query, memo_);
  if (picked.fell_back) {
    service.counters->router_fallbacks.fetch_add(1, std::memory_order_relaxed);
  }
  picked_listener_ = picked.listener;
  return picked.instance;
}

void CallSession::FindHash() {
  if (policy_->hash_key != nullptr) {
    hash_ = policy_->hash_key->Of(*input_.request, *input_.context, input_.metadata);
  }
  if (!hash_.has_value()) Count(state().counters->without_hash_key);
}

LiveInstance* CallSession::PickInstance(const Moment& moment) {
  if (last_instance_ != nullptr && last_instance_ != overloaded_ &&
      !policy_->settings.retry.switch_instance_on_retry && passed_over_.empty() &&
      (ejected_too_ || state().ejections->MayTake(last_instance_, moment.now)) &&
      (unhealthy_too_ || state().health->MayTake(last_instance_, moment.now))) {
    for (const Candidate& candidate : state().candidates) {
      if (candidate.live != last_instance_) continue;
      picked_listener_ = last_listener_;
      return last_instance_;
    }
  }
  LiveInstance* instance = PickUntried(tried_, moment);
  // All were tried: start over, but for the one that failed just now if there is another.
  if (instance == nullptr && tried_.size() > 1) {
    tried_.erase(tried_.begin(), tried_.end() - 1);
    instance = PickUntried(tried_, moment);
  }
  if (instance == nullptr && !tried_.empty()) {
    tried_.clear();
    instance = PickUntried(tried_, moment);
  }
  return instance;
}

LiveInstance* CallSession::PickOther(const Moment& moment) {
  absl::InlinedVector<const LiveInstance*, 4> not_these = tried_;
  for (const InFlight& attempt : in_flight_) not_these.push_back(attempt.instance);
  return PickUntried(not_these, moment);
}

bool CallSession::Acquire(InFlight& attempt, CircuitBreaker& breaker, MonotonicTime now) {
  const CircuitBreaker::Admission admission = breaker.TryAcquire(now);
  if (!admission.allowed) {
    refusal_ = admission;
    return false;
  }
  attempt.permits[attempt.permits_held++] = {&breaker, admission.permit};
  return true;
}

bool CallSession::AcquireShared(InFlight& attempt, MonotonicTime now) {
  for (const auto& [name, breaker] : policy_->breakers.shared) {
    if (Acquire(attempt, *breaker, now)) continue;
    refused_by_ = &name;
    // A permit that is not used is given back.
    TellBreakers(attempt, Classification::Health::kUnknown, now);
    attempt.permits_held = 0;
    return false;
  }
  return true;
}

}  // namespace marpc
