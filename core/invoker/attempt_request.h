// What a step's attempt sends.
#ifndef MARPC_INVOKER_ATTEMPT_REQUEST_H_
#define MARPC_INVOKER_ATTEMPT_REQUEST_H_

#include "marpc/base/cancel.h"
#include "marpc/invoker/call_session.h"
#include "marpc/transport/transport.h"

namespace marpc {

// All that is handed in outlives the attempt.
inline AttemptRequest RequestOf(const CallInput& input, const Step& step, const Metadata& metadata,
                                CancelSignal& cancel) {
  AttemptRequest request;
  request.method = input.method;
  request.request = input.request;
  request.reply = input.reply;
  request.deadline = step.deadline;
  request.metadata = metadata.empty() ? nullptr : &metadata;
  request.previous_attempts = step.attempt;
  request.cancel = &cancel;
  return request;
}

}  // namespace marpc

#endif  // MARPC_INVOKER_ATTEMPT_REQUEST_H_
