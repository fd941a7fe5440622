// What a consumer keeps of one instance for as long as the registry lists it, across all changes of
// the list.
#ifndef MARPC_BASE_LIVE_INSTANCE_H_
#define MARPC_BASE_LIVE_INSTANCE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/endpoint.h"

namespace marpc {

// Thread-safe; every field is an atomic of its own.
class LiveInstance {
 public:
  explicit LiveInstance(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}
  virtual ~LiveInstance() = default;

  const Endpoint& endpoint() const { return endpoint_; }

  // An instance that gave no answer (could not be connected to, broke off, let an attempt time out)
  // is passed over while others are there, for 0.1 s at first and up to 5 s: a dead or hanging node
  // that the registry still lists must not cost a share of the calls their first attempt. Any
  // answer ends it.
  bool reachable(MonotonicTime now) const {
    return avoid_until_nanos_.load(std::memory_order_relaxed) <= now.nanos();
  }
  // True when it had been reachable until now.
  bool OnUnreachable(MonotonicTime now) {
    const int before = failures_in_row_.fetch_add(1, std::memory_order_relaxed);
    const absl::Duration pause =
        std::min(absl::Milliseconds(100) * (1 << std::min(before, 6)), absl::Seconds(5));
    avoid_until_nanos_.store((now + pause).nanos(), std::memory_order_relaxed);
    return before == 0;
  }
  // It answered, or the registry says that it is (back) there. True when it had been unreachable.
  bool OnReachable() {
    if (failures_in_row_.load(std::memory_order_relaxed) == 0) return false;
    avoid_until_nanos_.store(0, std::memory_order_relaxed);
    return failures_in_row_.exchange(0, std::memory_order_relaxed) != 0;
  }

 private:
  const Endpoint endpoint_;
  std::atomic<int64_t> avoid_until_nanos_{0};
  std::atomic<int> failures_in_row_{0};
};

}  // namespace marpc

#endif  // MARPC_BASE_LIVE_INSTANCE_H_
