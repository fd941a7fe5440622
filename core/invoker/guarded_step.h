// Takes a step of a session, where code of the program's own runs: routers, balancers, policies.
#ifndef MARPC_INVOKER_GUARDED_STEP_H_
#define MARPC_INVOKER_GUARDED_STEP_H_

#include <optional>

#include "absl/strings/str_cat.h"
#include "marpc/base/user_code.h"
#include "marpc/invoker/call_session.h"

namespace marpc {

// In a catch block: the end of a call whose session threw. The session is to be dropped.
inline Step EndOfThrow(const Method& method) {
  Step end;
  end.kind = Step::Kind::kDone;
  end.status = StatusOfException(
      absl::StrCat("a router, balancer, retry policy or listener of ", method.full_name));
  return end;
}

// The step that `take` answers. Where it throws, the call's end; the session is dropped then, while
// the messages that it looks at are still there.
template <typename Take>
Step GuardedStep(std::optional<CallSession>& session, const Method& method, Take take) {
  try {
    return take(*session);
  } catch (...) {
    session.reset();
    return EndOfThrow(method);
  }
}

}  // namespace marpc

#endif  // MARPC_INVOKER_GUARDED_STEP_H_
