#include "marpc/provider/grpc/request_context.h"

#include "grpc/support/time.h"

namespace marpc {

MonotonicTime DeadlineOf(const grpc::ServerContextBase& context) {
  const gpr_timespec deadline = context.raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    return MonotonicTime::InfiniteFuture();
  }
  const gpr_timespec left = gpr_time_sub(gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC),
                                         gpr_now(GPR_CLOCK_MONOTONIC));
  return Clock::Real().Now() + absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec);
}

RpcContext ContextOf(const grpc::ServerContextBase& context) {
  RpcContext result;
  for (const auto& [key, value] : context.client_metadata()) {
    DecodeContextEntry(View(key), View(value), result);
  }
  result.set_deadline(DeadlineOf(context));
  return result;
}

}  // namespace marpc
