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
  {
    PlainMutexLock lock(&mutex_);
    if (!waiting_.insert(breaker.get()).second) return;  // its turn comes anyway
  }
  // Taken when the check begins: while it waits for its turn, a permit would run out unused.
  const auto permit = std::make_shared<Permit>();
  environment_.probe->CheckIf(
      [self = shared_from_this(), instance, breaker, permit] {
        *permit = self->Acquire(instance, breaker);
        return permit->has_value();
      },
      instance, question_,
      [self = shared_from_this(), instance, breaker, permit](const HealthProbe::Result& result) {
        if (permit->has_value()) self->OnResult(instance, breaker, **permit, result);
      });
}

BreakerProbes::Permit BreakerProbes::Acquire(const std::shared_ptr<LiveInstance>& instance,
                                             const std::shared_ptr<CircuitBreaker>& breaker) {
  {
    PlainMutexLock lock(&mutex_);
    waiting_.erase(breaker.get());
  }
  const MonotonicTime now = Now();
  const CircuitBreaker::Admission admission = breaker->TryAcquireProbe(now);
  if (admission.allowed) return admission.permit;
  // All its probes are out, and one that is lost makes room by then. In any other state it wants
  // none, or will say so when it does.
  if (breaker->state() == BreakerState::kHalfOpen) {
    ProbeAt(instance, breaker, now + ProbeTimeout(breaker->settings()));
  }
  return std::nullopt;
}

void BreakerProbes::OnResult(const std::shared_ptr<LiveInstance>& instance,
                             const std::shared_ptr<CircuitBreaker>& breaker,
                             const CircuitBreaker::Permit& permit,
                             const HealthProbe::Result& result) {
  switch (result.answer) {
    case HealthAnswer::kNone:
      return breaker->Release(permit);
    case HealthAnswer::kNotSupported:
      breaker->Release(permit);
      if (!not_supported_told_.exchange(true) && on_not_supported_ != nullptr) {
        on_not_supported_(instance->endpoint().ToString(), result.status);
      }
      return;
    case HealthAnswer::kServing:
      breaker->OnSuccess(permit, Now());
      break;
    case HealthAnswer::kNotServing:
    case HealthAnswer::kNoAnswer:
    case HealthAnswer::kError:
      breaker->OnFailure(permit, Now());
  }
  if (breaker->state() == BreakerState::kHalfOpen) ProbeAt(instance, breaker, Now());
}

}  // namespace marpc
