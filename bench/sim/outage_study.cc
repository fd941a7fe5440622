#include "bench/sim/outage_study.h"

namespace marpc::sim {
namespace {

size_t SlicesIn(absl::Duration time) { return static_cast<size_t>(time / Fleet::kSlice); }

bool Healthy(const Slice& slice) { return slice.failed * 100 <= slice.answered + slice.failed; }

}  // namespace

MethodSettings DefaultRetries() {
  MethodSettings settings;
  settings.retry.max_retries = 3;
  settings.retry.timeout = absl::Milliseconds(500);
  return settings;
}

MethodSettings NaiveRetries() {
  MethodSettings settings = DefaultRetries();
  settings.retry.budget.enabled = false;
  return settings;
}

MethodSettings HedgedRetries() {
  MethodSettings settings = DefaultRetries();
  settings.retry.hedging.enabled = true;
  settings.retry.hedging.percentile = 96;
  return settings;
}

OutageResult RunOutage(const OutageSettings& settings) {
  Fleet fleet(settings.fleet);
  fleet.RunFor(settings.before);
  fleet.AllServersBecome(settings.outage);
  fleet.RunFor(settings.lasts);
  fleet.AllServersBecome(Server::Condition::kUp);
  fleet.RunFor(settings.after);

  OutageResult result;
  result.slices = fleet.slices();
  const size_t from = SlicesIn(settings.before);
  const size_t until = from + SlicesIn(settings.lasts);
  const Slice outage = Sum(result.slices, from, until);
  result.amplification = static_cast<double>(outage.arrivals) / static_cast<double>(outage.calls);
  // The last slice may not be whole.
  size_t well_since = result.slices.size() - 1;
  while (well_since > until && Healthy(result.slices[well_since - 1])) --well_since;
  result.recovery = well_since + 1 < result.slices.size()
                        ? Fleet::kSlice * static_cast<double>(well_since - until)
                        : absl::InfiniteDuration();
  return result;
}

}  // namespace marpc::sim
