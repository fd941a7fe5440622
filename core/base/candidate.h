// An instance as routers and balancers see it.
#ifndef MARPC_BASE_CANDIDATE_H_
#define MARPC_BASE_CANDIDATE_H_

#include <vector>

#include "absl/types/span.h"
#include "marpc/base/instance.h"
#include "marpc/base/live_instance.h"

namespace marpc {

// Immutable, and owned by the snapshot that the call holds.
struct Candidate {
  Instance instance;
  // Gray by its own metadata, by the registry's mark or by this process's.
  bool gray = false;
  // What stays the same object from snapshot to snapshot.
  LiveInstance* live = nullptr;
};

// Candidates in the order of the registry's list.
using CandidateList = absl::Span<const Candidate* const>;

}  // namespace marpc

#endif  // MARPC_BASE_CANDIDATE_H_
