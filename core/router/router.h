// Routers narrow the instances that a call may go to: gray release, tags, zones.
//
// The work is split: a Router turns a list of candidates into a RouteTable when the list changes; a
// call only chooses one of the table's pools. So a call costs the same however many instances there
// are.
//
// A router of one's own derives from both and is given to the consumer in ConsumerOptions::routers.
// Routers act in the order of order(), each on the pools of the one before.
#ifndef MARPC_ROUTER_ROUTER_H_
#define MARPC_ROUTER_ROUTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "marpc/base/candidate.h"
#include "marpc/base/method.h"
#include "marpc/base/random.h"
#include "marpc/context/rpc_context.h"

namespace marpc {

// What a table may look at.
struct RouteQuery {
  const Method& method;
  const RpcContext& context;
  RandomSource& random;
};

// Immutable, read by all threads at once.
class RouteTable {
 public:
  using Pool = std::vector<const Candidate*>;

  virtual ~RouteTable() = default;

  // The pools that can be chosen; at most 127. Fixed.
  virtual absl::Span<const Pool> pools() const = 0;

  // The pool for this call. `remembered` is what the call's first attempt was given (perhaps by an
  // earlier table of the same router), -1 at the first attempt: a retry must not draw again.
  virtual int Choose(const RouteQuery& query, int remembered) const = 0;

  // Where a call may go when every instance of `pool` was tried. -1: nowhere.
  virtual int Fallback(int pool) const = 0;

  // A pool in words, for messages: "gray side of 30 %".
  virtual std::string Describe(int pool) const = 0;
};

class Router {
 public:
  virtual ~Router() = default;
  virtual absl::string_view name() const = 0;
  // Smaller ones act first; equal ones in the order they were added.
  virtual int order() const { return 0; }
  // Called off the call path, by one thread at a time. The candidates outlive the table.
  virtual std::unique_ptr<RouteTable> Build(CandidateList candidates) = 0;
};

}  // namespace marpc

#endif  // MARPC_ROUTER_ROUTER_H_
