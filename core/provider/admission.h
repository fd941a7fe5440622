// A provider's limits, with the timers that end the waits under them.
#ifndef MARPC_PROVIDER_ADMISSION_H_
#define MARPC_PROVIDER_ADMISSION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "marpc/base/timer_queue.h"
#include "marpc/config/limit_settings.h"
#include "marpc/limit/call_gate.h"

namespace marpc {

// Thread-safe.
class Admission {
 public:
  // InvalidArgument for settings that cannot be in force, ResourceExhausted when the system gives
  // no thread for the timers, which only waiting calls need.
  static absl::StatusOr<std::unique_ptr<Admission>> Create(const ProviderLimitSettings& settings);

  CallGate& gate() { return gate_; }
  const CallGate& gate() const { return gate_; }
  const ProviderLimitSettings& settings() const { return settings_; }
  // Warns of limits whose names no method has that was asked for.
  void WarnOfUnusedNames() const;

 private:
  explicit Admission(const ProviderLimitSettings& settings);

  const ProviderLimitSettings settings_;
  CallGate gate_;
  TimerQueue timers_;  // stops before the gate ends
};

// What a refused caller is told to wait: `retry_after` and a part of `spread` that chance draws.
// Zero: nothing.
absl::Duration PushbackOf(const CallGate::Refusal& refusal);

}  // namespace marpc

#endif  // MARPC_PROVIDER_ADMISSION_H_
