#include "marpc/provider/grpc/request_context.h"

#include <memory>
#include <utility>

#include "absl/strings/match.h"
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

absl::string_view MetadataOf(const grpc::ServerContextBase& context, absl::string_view key) {
  const auto it = context.client_metadata().find(grpc::string_ref(key.data(), key.size()));
  return it == context.client_metadata().end() ? absl::string_view() : View(it->second);
}

std::string CallerOf(const grpc::ServerContextBase& context, const std::string& metadata_key) {
  if (!metadata_key.empty()) {
    const absl::string_view name = MetadataOf(context, metadata_key);
    if (!name.empty()) return std::string(name);
  }
  // ipv4:10.0.0.7:51234, ipv6:%5B::1%5D:51234, unix:/run/x
  std::string peer = context.peer();
  if (absl::StartsWith(peer, "ipv")) peer.resize(peer.rfind(':'));
  return peer;
}

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
