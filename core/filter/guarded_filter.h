// Calls of filters from which nothing that they throw gets out.
#ifndef MARPC_FILTER_GUARDED_FILTER_H_
#define MARPC_FILTER_GUARDED_FILTER_H_

#include "absl/status/status.h"
#include "marpc/filter/filter.h"

namespace marpc {

// A filter that throws fails the call: INTERNAL, naming the filter.
Filter::Verdict GuardedBefore(Filter& filter, FilterCall& call);

// The call has its result by then, and keeps it: what is thrown is logged.
void GuardedAfter(Filter& filter, FilterCall& call, const absl::Status& status);
void GuardedAbandoned(Filter& filter, FilterCall& call, const absl::Status& status);

}  // namespace marpc

#endif  // MARPC_FILTER_GUARDED_FILTER_H_
