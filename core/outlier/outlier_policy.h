// Who is ejected, and for how long: the rules alone, on hosts, times and chance that are handed in.
//
// Success rate, failure percentage, the times and the limit are those of gRFC A50 (gRPC's outlier
// detection, which is Envoy's). A host that is ejected already is not ejected again.
#ifndef MARPC_OUTLIER_OUTLIER_POLICY_H_
#define MARPC_OUTLIER_OUTLIER_POLICY_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "marpc/base/clock.h"
#include "marpc/base/random.h"
#include "marpc/config/outlier_settings.h"
#include "marpc/outlier/ejection.h"

namespace marpc {

// Not thread-safe.
class OutlierPolicy {
 public:
  struct Host {
    IntervalCalls calls;
    Ejection ejection;
  };
  // What the hosts of an interval were compared with. Shares of successes from 0 to 1.
  struct SuccessRates {
    int hosts = 0;  // that were judged; 0: none were, too few had the calls
    double mean = 0;
    double stdev = 0;
    double threshold = 0;  // a host below it is found
  };
  struct Counters {
    std::array<uint64_t, kEjectionReasons> ejections{};  // by EjectionReason
    uint64_t spared_by_limit = 0;   // found, while maxEjectionPercent were ejected, or alone
    uint64_t spared_by_chance = 0;  // found, and not within enforcementPercent
  };
  enum class Verdict { kEjected, kSparedByLimit, kSparedByChance };

  static absl::Status Validate(const OutlierSettings& settings);
  // `settings` must be valid.
  explicit OutlierPolicy(const OutlierSettings& settings) : settings_(settings) {}

  // Compares the hosts, all that there are, by their calls of the interval that ends at `tick`, and
  // ejects those that it finds.
  void Judge(absl::Span<Host* const> hosts, MonotonicTime tick, RandomSource& random);
  // Of the ticks from `first` on, `count` of them, an interval apart: time runs off ejections, and
  // off the multipliers of hosts that are not ejected. The tick that ended the host's ejection, if
  // one did.
  std::optional<MonotonicTime> Pass(Host& host, MonotonicTime first, int64_t count) const;
  // One that was found by its own calls. `ejected` of `total` hosts are.
  Verdict Eject(Host& host, EjectionReason reason, int ejected, int total, MonotonicTime now,
                RandomSource& random);

  absl::Duration EjectionTime(int multiplier) const;
  const SuccessRates& success_rates() const { return success_rates_; }
  const Counters& counters() const { return counters_; }
  const OutlierSettings& settings() const { return settings_; }

 private:
  struct Round;
  bool LimitReached(int ejected, int total) const;
  int EnforcementPercent(EjectionReason reason) const;
  void EjectFound(Round& round, Host& host, EjectionReason reason);
  void JudgeSuccessRates(Round& round);
  void JudgeFailurePercentages(Round& round);
  void JudgeLatencies(Round& round);

  const OutlierSettings settings_;
  SuccessRates success_rates_;
  Counters counters_;
};

}  // namespace marpc

#endif  // MARPC_OUTLIER_OUTLIER_POLICY_H_
