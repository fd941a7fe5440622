// One way of making the same call.
#ifndef BENCH_E2E_CONTESTANT_H_
#define BENCH_E2E_CONTESTANT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace marpc::bench {

// Thread-safe.
class Contestant {
 public:
  virtual ~Contestant() = default;
  // Makes one call; false when it failed.
  virtual bool Call() = 0;
  // Starts one; `done` runs once, on any thread.
  virtual void Start(std::function<void(bool)> done) = 0;
};

// `endpoints` are the backends. `timeout` of a call; 0: none is set, on either side.
std::unique_ptr<Contestant> StockStub(const std::string& endpoint, absl::Duration timeout);
// gRPC's own round_robin and retryPolicy (2 retries on UNAVAILABLE), from a service config.
std::unique_ptr<Contestant> StockRoundRobin(const std::vector<std::string>& endpoints,
                                            absl::Duration timeout);
// marpc with everything on: breaker, gray router, balancer, retries, budget.
std::unique_ptr<Contestant> MarpcClient(const std::vector<std::string>& endpoints,
                                        absl::Duration timeout);
std::unique_ptr<Contestant> MarpcChannel(const std::vector<std::string>& endpoints,
                                         absl::Duration timeout);

}  // namespace marpc::bench

#endif  // BENCH_E2E_CONTESTANT_H_
