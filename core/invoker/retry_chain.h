// Retries of several services multiply: where A calls B and B calls C, three attempts each make
// nine calls of C. These functions see to it that calls made in the service of another one know of
// it.
#ifndef MARPC_INVOKER_RETRY_CHAIN_H_
#define MARPC_INVOKER_RETRY_CHAIN_H_

#include "absl/strings/string_view.h"
#include "marpc/config/settings.h"
#include "marpc/context/rpc_context.h"

namespace marpc {

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
    return "the request that is being served has used up its retries (retry.chain.maxPerRequest)";
  }
  return "";
}

// A retry is made in the service of an inbound call, or not made after all.
inline void CountInChain(const RpcContext& context) {
  if (context.inbound() != nullptr) context.inbound()->retries.fetch_add(1);
}
inline void UncountInChain(const RpcContext& context) {
  if (context.inbound() != nullptr) context.inbound()->retries.fetch_sub(1);
}

}  // namespace marpc

#endif  // MARPC_INVOKER_RETRY_CHAIN_H_
