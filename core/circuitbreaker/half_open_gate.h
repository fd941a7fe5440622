// The probes of a HALF_OPEN breaker: lets a bounded number of them out, whatever the concurrency,
// and judges what comes back.
#ifndef MARPC_CIRCUITBREAKER_HALF_OPEN_GATE_H_
#define MARPC_CIRCUITBREAKER_HALF_OPEN_GATE_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/circuitbreaker/call_counts.h"
#include "marpc/config/breaker_settings.h"

namespace marpc {

// Not thread-safe.
class HalfOpenGate {
 public:
  enum class Verdict { kUndecided, kClose, kOpen };

  void Start(MonotonicTime now);
  // The probe's number; 0 while all probes are out, or enough have ended for a verdict.
  uint32_t Admit(const BreakerRules& rules, MonotonicTime now);
  // That probe is no longer out. One that had lost its place has none to give back.
  void GiveBack(uint32_t probe);
  // A probe has ended; it was given back.
  Verdict Count(const BreakerRules& rules, bool failed, bool slow);

  // Before that Admit() answers false, unless a probe comes back.
  MonotonicTime full_until(const BreakerRules& rules) const;
  int out() const { return static_cast<int>(out_.size()); }
  int successes() const { return static_cast<int>(counts_.calls - bad_); }
  const CallCounts& counts() const { return counts_; }
  MonotonicTime since() const { return since_; }

 private:
  struct Probe {
    uint32_t number;
    MonotonicTime admitted_at;
  };
  bool Full(const BreakerRules& rules) const;

  std::vector<Probe> out_;  // the oldest first
  uint32_t last_number_ = 0;
  CallCounts counts_;  // of those that ended
  int bad_ = 0;        // those that speak against closing
  MonotonicTime since_;
};

// After that a probe's place is given to another.
inline absl::Duration ProbeTimeout(const BreakerRules& rules) {
  return rules.half_open_probe_timeout.value_or(rules.half_open_delay);
}

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_HALF_OPEN_GATE_H_
