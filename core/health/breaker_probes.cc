#include "marpc/health/breaker_probes.h"

namespace marpc {

void BreakerProbes::ProbeAt(const std::shared_ptr<LiveInstance>& instance,
                            const std::shared_ptr<CircuitBreaker>& breaker, MonotonicTime when) {
  // An instance that leaves the list meanwhile takes its breaker along.
  environment_.run_at(when, [self = weak_from_this(), instance = std::weak_ptr(instance),
                             breaker = std::weak_ptr(breaker)] {
    const auto probes = self.lock();
    const auto peer = instance.lock();
    const auto of_it = breaker.lock();
    if (probes != nullptr && peer != nullptr && of_it != nullptr) probes->Probe(peer, of_it);
  });
}

void BreakerProbes::Probe(const std::shared_ptr<LiveInstance>& instance,
                          const std::shared_ptr<CircuitBreaker>& breaker) {
  const CircuitBreaker::Admission admission = breaker->TryAcquireProbe(Now());
  // It was closed meanwhile, or has another probe out.
  if (!admission.allowed) return;
  environment_.probe->Check(instance, question_,
                            [self = shared_from_this(), instance, breaker,
                             permit = admission.permit](const HealthProbe::Result& result) {
                              if (result.answer == HealthAnswer::kNone)
                                return breaker->Release(permit);
                              if (Good(result.answer)) {
                                breaker->OnSuccess(permit, self->Now());
                              } else {
                                breaker->OnFailure(permit, self->Now());
                              }
                              if (breaker->state() == BreakerState::kHalfOpen) {
                                self->ProbeAt(instance, breaker, self->Now());
                              }
                            });
}

}  // namespace marpc
