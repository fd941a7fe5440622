// Drives a call in the thread that makes it.
#ifndef MARPC_INVOKER_BLOCKING_CALL_H_
#define MARPC_INVOKER_BLOCKING_CALL_H_

#include "absl/status/status.h"
#include "marpc/base/cancel.h"
#include "marpc/base/clock.h"
#include "marpc/base/timer_queue.h"
#include "marpc/invoker/call_session.h"
#include "marpc/transport/transport.h"

namespace marpc {

// Runs `session`, which was made from `input`, to its end. `cancel` is the input's. Not for methods
// that are hedged: HedgedCall runs these. `timers` are those of asynchronous calls, whose answer
// this one may wait for, perhaps on the timers' thread.
absl::Status RunBlocking(CallSession& session, const CallInput& input, const Metadata& metadata,
                         CancelSignal& cancel, const Clock& clock, TimerQueue& timers);

}  // namespace marpc

#endif  // MARPC_INVOKER_BLOCKING_CALL_H_
