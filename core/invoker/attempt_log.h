// What a call's attempts came to, and the words in which its caller is told.
#ifndef MARPC_INVOKER_ATTEMPT_LOG_H_
#define MARPC_INVOKER_ATTEMPT_LOG_H_

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/base/error.h"
#include "marpc/base/live_instance.h"
#include "marpc/base/method.h"
#include "marpc/consumer/call_options.h"
#include "marpc/retry/classifier.h"

namespace marpc {

class AttemptLog {
 public:
  struct Entry {
    const LiveInstance* instance;
    absl::Duration latency;
    absl::Status status;
    absl::string_view verdict;  // why another one followed, or why none did
    bool not_executed = false;  // AttemptInfo.not_executed
  };

  void Add(Entry entry) { entries_.push_back(std::move(entry)); }

  // The failure of an attempt as the caller sees it, with all attempts so far in its ErrorInfo.
  // `retries` were made before it; hedges are none.
  absl::Status Describe(const Method& method, const AttemptOutcome& outcome,
                        const Classification& classification, int retries) const;
  // Sets the ErrorInfo of a failure.
  void AddInfo(absl::Status& status, const Method& method, ErrorInfo::Origin origin,
               absl::string_view reason) const;
  void Fill(CallReport& report) const;

 private:
  absl::InlinedVector<Entry, 1> entries_;
};

}  // namespace marpc

#endif  // MARPC_INVOKER_ATTEMPT_LOG_H_
