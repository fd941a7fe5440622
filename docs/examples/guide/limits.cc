// Limits: what docs/guide/limits.md shows, compiled with the tests.
#include <iostream>
#include <memory>

#include "demo/hello.marpc.h"
#include "marpc/base/error.h"
#include "marpc/context/rpc_context.h"
#include "marpc/limit/priority.h"
#include "marpc/limit/rate_limit.h"
#include "marpc/provider/provider.h"

void FillTheCache(demo::HelloServiceClient& client, const demo::HelloRequest& request) {
  marpc::RpcContext::Scope scope;  // until the end of the block, on this thread
  scope.Set(marpc::kPriorityKey, "sheddable").IgnoreError();
  client.Hello(request).IgnoreError();
}

void SayWhoRefused(const absl::Status& status) {
  std::optional<marpc::ErrorInfo> info = marpc::GetErrorInfo(status);
  if (!info.has_value()) return;
  if (info->reason() == marpc::reason::kOverloaded) {
    std::cerr << "the provider has too much to do\n";
  } else if (info->reason() == marpc::reason::kTooManyCalls) {
    std::cerr << "this process waits for too many answers already\n";
  }
}

void ShowLimits(const marpc::Provider& provider) {
  for (const marpc::CallGate::LimitState& limit : provider.limits()) {
    std::cout << limit.name << ": " << limit.under_way << " of " << limit.limit << "\n";
  }
}

bool MayPoll(marpc::RateLimit& limit) {
  // 100 a second: marpc::RateLimit limit(100, absl::Seconds(1));
  return limit.TryTake(marpc::Clock::Real().Now());
}
