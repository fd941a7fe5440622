#include "marpc/loadbalance/peak_ewma.h"

#include "absl/time/time.h"
#include "marpc/loadbalance/best_of_few.h"

namespace marpc {
namespace {

// What an instance is taken to need that has not answered yet: others are to be preferred while it
// has a call.
constexpr double kNotYetAnsweredNanos = 1e9;

class ExpectedWait {
 public:
  explicit ExpectedWait(double decay_nanos) : decay_nanos_(decay_nanos) {}
  double operator()(const LiveInstance& instance, double inverse_share, MonotonicTime now) const {
    const InstanceLoad& load = instance.load();
    const int in_flight = load.in_flight();
    double latency = load.LatencyNanos(now, decay_nanos_);
    if (latency == 0) {
      if (in_flight == 0) return 0;
      latency = kNotYetAnsweredNanos;
    }
    return latency * (1 + in_flight * inverse_share);
  }

 private:
  double decay_nanos_;
};

class LatencyListener final : public AttemptListener {
 public:
  LatencyListener(double decay_nanos, double failure_factor)
      : decay_nanos_(decay_nanos), failure_factor_(failure_factor) {}

  void OnBegin(LiveInstance& instance) const override { instance.load().Begin(); }
  void OnEnd(LiveInstance& instance, const AttemptEnd& end, MonotonicTime now) const override {
    InstanceLoad& load = instance.load();
    load.End();
    switch (end.result) {
      case AttemptEnd::Result::kAnswered:
        return load.OnAnswer(end.took, now, decay_nanos_);
      case AttemptEnd::Result::kFailed:
        return load.OnFailure(end.took, failure_factor_, now, decay_nanos_);
      case AttemptEnd::Result::kGivenUp:
        return load.OnGivenUp(end.took, now, decay_nanos_);
    }
  }

 private:
  const double decay_nanos_;
  const double failure_factor_;
};

}  // namespace

PeakEwma::PeakEwma(const PeakEwmaSettings& settings, int choices)
    : decay_nanos_(absl::ToDoubleNanoseconds(settings.decay)),
      choices_(choices),
      listener_(std::make_shared<LatencyListener>(decay_nanos_, settings.failure_factor)) {}

std::unique_ptr<Picker> PeakEwma::Build(absl::string_view, CandidateList candidates) {
  return std::make_unique<BestOfFewPicker<ExpectedWait>>(ExpectedWait(decay_nanos_), choices_,
                                                         listener_, candidates);
}

}  // namespace marpc
