// Waiting in the calling thread, and where a retry takes time and chance from. Replaced in tests:
//
//   class InstantSleeper final : public marpc::Sleeper {
//     void SleepUntil(marpc::MonotonicTime until, marpc::CancelSignal*) override {
//       clock_.Set(until);
//     }
//     ...
//   };
//   retry.Using({.clock = &clock, .sleeper = &sleeper, .random = &random}).Call(fn);
#ifndef MARPC_RETRY_SLEEPER_H_
#define MARPC_RETRY_SLEEPER_H_

#include "marpc/base/cancel.h"
#include "marpc/base/clock.h"
#include "marpc/base/random.h"

namespace marpc {

// Thread-safe.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  // Returns at `until` or soon after, or as soon as `cancel`, where there is one, is cancelled.
  virtual void SleepUntil(MonotonicTime until, CancelSignal* cancel) = 0;

  // Blocks the thread. Lives for ever.
  static Sleeper& Real();
};

// What it points to must outlive its use.
struct RetryEnvironment {
  const Clock* clock = &Clock::Real();
  Sleeper* sleeper = &Sleeper::Real();
  // Null: the calling thread's own. Not null: must be safe from all threads that use it.
  RandomSource* random = nullptr;
};

}  // namespace marpc

#endif  // MARPC_RETRY_SLEEPER_H_
