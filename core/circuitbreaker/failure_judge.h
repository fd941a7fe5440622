// What a breaker, or outlier ejection, is told of an attempt that failed.
//
// Lost requests are failures. What the handler answers is a success, since the peer is there, and
// so it is with other answers of the peer. Nothing at all are: what was refused on this side
// (message too large, unreadable answer, cancelled by the caller) and a provider's refusal for
// overload, which says that it is alive.
//
// `record` (the keys circuitbreaker.record and outlier.record) makes failures of others: a status
// code names what came from the peer, whoever there made it; what was refused on this side is named
// by its reason alone, so that RESOURCE_EXHAUSTED of an overloaded peer is not mixed up with that
// of a message too large. `ignore` makes nothing of them, and wins.
#ifndef MARPC_CIRCUITBREAKER_FAILURE_JUDGE_H_
#define MARPC_CIRCUITBREAKER_FAILURE_JUDGE_H_

#include <string>
#include <vector>

#include "marpc/retry/classifier.h"
#include "marpc/transport/transport.h"

namespace marpc {

Classification::Health JudgeFailure(const AttemptOutcome& outcome,
                                    const Classification& classification,
                                    const std::vector<std::string>& record,
                                    const std::vector<std::string>& ignore);

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_FAILURE_JUDGE_H_
