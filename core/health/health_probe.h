// How an instance is asked how it is: what decides when, and what an answer means, stands on this
// interface; the transport makes the request.
#ifndef MARPC_HEALTH_HEALTH_PROBE_H_
#define MARPC_HEALTH_HEALTH_PROBE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "marpc/base/live_instance.h"

namespace marpc {

enum class HealthAnswer {
  kNone,  // it was not asked, or this side gave up: nothing is known
  kServing,
  kNotServing,
  kNotSupported,  // it has no health service, or that one does not know the name asked about
  kNoAnswer,      // in time, or no connection
  kError,         // any other answer
};
// NONE, SERVING, NOT_SERVING ...
absl::string_view HealthAnswerName(HealthAnswer answer);

// Nothing speaks against calls to the instance. Who cannot be asked is taken as well.
inline bool Good(HealthAnswer answer) {
  return answer == HealthAnswer::kServing || answer == HealthAnswer::kNotSupported;
}

// Thread-safe.
class HealthProbe {
 public:
  struct Question {
    std::string service;  // empty: the server as a whole
    absl::Duration timeout;
  };
  struct Result {
    HealthAnswer answer = HealthAnswer::kNone;
    absl::Status status;  // of the request
  };

  virtual ~HealthProbe() = default;
  // Does not block. `done` is called exactly once, on any thread, also on this one before this
  // returns; without a lock.
  virtual void Check(const std::shared_ptr<LiveInstance>& instance, const Question& question,
                     absl::AnyInvocable<void(Result)> done) = 0;
  // The same, for checks that may wait for their turn: `may_begin` is asked when it has come,
  // without a lock. False: the instance is not asked (kNone).
  virtual void CheckIf(absl::AnyInvocable<bool()> may_begin,
                       const std::shared_ptr<LiveInstance>& instance, const Question& question,
                       absl::AnyInvocable<void(Result)> done) {
    if (!may_begin()) return done({});
    Check(instance, question, std::move(done));
  }
};

}  // namespace marpc

#endif  // MARPC_HEALTH_HEALTH_PROBE_H_
