#include "marpc/provider/grpc/request_context.h"

#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "grpc/support/time.h"

namespace marpc {
namespace {

// A peer may send anything: what is no number, or an absurd one, counts as 0.
int NumberIn(absl::string_view text) {
  int number = 0;
  return absl::SimpleAtoi(text, &number) && number > 0 && number < 1'000'000 ? number : 0;
}

}  // namespace

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
  auto inbound = std::make_shared<InboundCall>();
  for (const auto& [key, value] : context.client_metadata()) {
    if (View(key) == kPreviousAttemptsMetadata) {
      inbound->previous_attempts = NumberIn(View(value));
    } else if (View(key) == kDepthMetadata) {
      inbound->depth = 1 + NumberIn(View(value));
    } else {
      DecodeContextEntry(View(key), View(value), result);
    }
  }
  result.set_inbound(std::move(inbound));
  result.set_deadline(DeadlineOf(context));
  return result;
}

}  // namespace marpc
