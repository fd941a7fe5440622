#include "marpc/circuitbreaker/half_open_gate.h"

#include <algorithm>

namespace marpc {

void HalfOpenGate::Start(MonotonicTime now) {
  out_.clear();
  counts_ = {};
  bad_ = 0;
  since_ = now;
}

bool HalfOpenGate::Full(const BreakerRules& rules) const {
  const int probes = rules.half_open_probes;
  if (out() >= probes) return true;
  if (rules.half_open_judged_by == HalfOpenJudge::kRate) return out() + counts_.calls >= probes;
  // No more than could still be of use.
  return out() + successes() >= std::max(probes, rules.half_open_successes.value_or(probes));
}

uint32_t HalfOpenGate::Admit(const BreakerRules& rules, MonotonicTime now) {
  const absl::Duration timeout = ProbeTimeout(rules);
  std::erase_if(out_, [&](const Probe& probe) { return now - probe.admitted_at >= timeout; });
  if (Full(rules)) return 0;
  out_.push_back({++last_number_, now});
  return last_number_;
}

void HalfOpenGate::GiveBack(uint32_t probe) {
  std::erase_if(out_, [&](const Probe& one) { return one.number == probe; });
}

HalfOpenGate::Verdict HalfOpenGate::Count(const BreakerRules& rules, bool failed, bool slow) {
  counts_ += {1, failed, slow};
  const bool slow_is_bad = slow && rules.trip_on.slow_call_rate;
  if (failed || slow_is_bad) ++bad_;
  if (rules.half_open_judged_by == HalfOpenJudge::kCount) {
    if (bad_ >= rules.half_open_failures) return Verdict::kOpen;
    const int needed = rules.half_open_successes.value_or(rules.half_open_probes);
    return successes() >= needed ? Verdict::kClose : Verdict::kUndecided;
  }
  if (counts_.calls < std::min(rules.half_open_probes, rules.minimum_calls)) {
    return Verdict::kUndecided;
  }
  const bool sick = PercentOf(counts_.failed, counts_.calls) >= rules.failure_rate ||
                    (rules.trip_on.slow_call_rate &&
                     PercentOf(counts_.slow, counts_.calls) >= rules.slow_call_rate);
  return sick ? Verdict::kOpen : Verdict::kClose;
}

MonotonicTime HalfOpenGate::full_until(const BreakerRules& rules) const {
  if (!Full(rules)) return MonotonicTime::FromNanos(0);
  if (out_.empty()) return MonotonicTime::InfiniteFuture();
  return out_.front().admitted_at + ProbeTimeout(rules);
}

}  // namespace marpc
