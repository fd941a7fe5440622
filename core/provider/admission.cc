#include "marpc/provider/admission.h"

#include <utility>

#include "marpc/base/clock.h"
#include "marpc/base/random.h"
#include "marpc/observe/log.h"

namespace marpc {

absl::StatusOr<std::unique_ptr<Admission>> Admission::Create(
    const ProviderLimitSettings& settings) {
  if (absl::Status status = CallGate::Validate(settings); !status.ok()) return status;
  std::unique_ptr<Admission> admission(new Admission(settings));
  if (settings.max_waiting > 0 && !settings.max_concurrent.empty()) {
    if (absl::Status status = admission->timers_.Start(); !status.ok()) return status;
  }
  return admission;
}

Admission::Admission(const ProviderLimitSettings& settings)
    : settings_(settings), gate_(settings, [this](MonotonicTime when) {
        timers_.At(when, [this] { gate_.Expire(Clock::Real().Now()); });
      }) {}

void Admission::WarnOfUnusedNames() const {
  for (const std::string& name : gate_.UnusedNames()) {
    if (name == kAllCalls) continue;
    Logger()->warn(
        "event=idle_limit name={} no marpc handler of this provider has this service or method, so "
        "that provider.limit does nothing for it; stock gRPC services are not limited",
        name);
  }
}

absl::Duration PushbackOf(const CallGate::Refusal& refusal) {
  if (refusal.spread <= absl::ZeroDuration()) return refusal.retry_after;
  return refusal.retry_after + RandomSource::OfThisThread().Uniform() * refusal.spread;
}

}  // namespace marpc
