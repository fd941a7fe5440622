// For balancers that go by what is under way, or by how quickly instances answer: they are told of
// every attempt that their picks led to. The others say that they want none (Picker::listener()),
// and calls pay a comparison with null.
#ifndef MARPC_LOADBALANCE_ATTEMPT_LISTENER_H_
#define MARPC_LOADBALANCE_ATTEMPT_LISTENER_H_

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/live_instance.h"

namespace marpc {

struct AttemptEnd {
  enum class Result {
    kAnswered,  // by the handler or the server; a business error is an answer
    kFailed,    // lost, timed out, or turned away
    kGivenUp,   // cancelled, overtaken by another attempt, or refused on this side
  };
  Result result = Result::kGivenUp;
  // From the attempt's beginning to its end.
  absl::Duration took;
};

// Thread-safe; called on the call path.
class AttemptListener {
 public:
  virtual ~AttemptListener() = default;
  // Each is followed by one OnEnd() of the same instance.
  virtual void OnBegin(LiveInstance& instance) const = 0;
  virtual void OnEnd(LiveInstance& instance, const AttemptEnd& end, MonotonicTime now) const = 0;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_ATTEMPT_LISTENER_H_
