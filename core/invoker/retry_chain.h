// Retries of several services multiply: where A calls B and B calls C, three attempts each make
// nine calls of C. These functions see to it that calls made in the service of another one know of
// it.
#ifndef MARPC_INVOKER_RETRY_CHAIN_H_
#define MARPC_INVOKER_RETRY_CHAIN_H_

#include "absl/strings/string_view.h"
#include "marpc/config/settings.h"
#include "marpc/context/rpc_context.h"

namespace marpc {

inline constexpr absl::string_view kChainUsedUp =
    "the request that is being served has used up its retries (retry.chain.maxPerRequest)";

// Why a call made in `context` must not be retried; "" when it may.
inline absl::string_view ChainRefusal(const RetryChainSettings& chain, const RpcContext& context) {
  const InboundCall* inbound = context.inbound().get();
  if (inbound == nullptr) return "";
  if (chain.stop && inbound->previous_attempts > 0) {
    return "the request that is being served is itself a retry (retry.chain.stop)";
  }
  if (chain.max_depth > 0 && inbound->depth >= chain.max_depth) {
    return "too many services from the edge (retry.chain.maxDepth)";
  }
  if (chain.max_per_request > 0 &&
      inbound->retries.load(std::memory_order_relaxed) >= chain.max_per_request) {
    return kChainUsedUp;
  }
  return "";
}

// Counts a retry that is about to be made in the service of an inbound call, whose calls may run on
// several threads. False, and nothing counted, when that has none left. Hedges are not counted;
// they are not made where a retry would be refused.
[[nodiscard]] inline bool ReserveInChain(const RetryChainSettings& chain,
                                         const RpcContext& context) {
  InboundCall* inbound = context.inbound().get();
  if (inbound == nullptr) return true;
  const auto before = inbound->retries.fetch_add(1);
  if (chain.max_per_request <= 0 || before < chain.max_per_request) return true;
  inbound->retries.fetch_sub(1);
  return false;
}
// The retry is not made after all.
inline void UnreserveInChain(const RpcContext& context) {
  if (context.inbound() != nullptr) context.inbound()->retries.fetch_sub(1);
}

}  // namespace marpc

#endif  // MARPC_INVOKER_RETRY_CHAIN_H_
