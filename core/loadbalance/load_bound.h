// Consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, 2016): no instance has
// more than so many times its share of the calls under way; a key whose instance is full goes to
// the next one that is not.
#ifndef MARPC_LOADBALANCE_LOAD_BOUND_H_
#define MARPC_LOADBALANCE_LOAD_BOUND_H_

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "marpc/base/stripe.h"
#include "marpc/loadbalance/attempt_listener.h"

namespace marpc {

// The calls under way of one pool; outlives changes of its list. Thread-safe.
class LoadBound final : public AttemptListener {
 public:
  explicit LoadBound(double factor) : factor_(factor) {}

  void OnBegin(LiveInstance& instance) const override {
    Add(1);
    instance.load().Begin();
  }
  void OnEnd(LiveInstance& instance, const AttemptEnd&, MonotonicTime) const override {
    Add(-1);
    instance.load().End();
  }

  // The calls that an instance of that share (of 1) may have under way, one more being picked for.
  double Room(double share) const {
    int64_t all = 1;
    for (const Counter& counter : in_flight_) all += counter.value.load(std::memory_order_relaxed);
    constexpr double kRounding = 1e-9;
    return std::ceil(factor_ * static_cast<double>(all) * share - kRounding);
  }

 private:
  // A call may begin on one processor and end on another: the sum alone means something.
  struct alignas(64) Counter {
    std::atomic<int64_t> value{0};
  };
  void Add(int64_t calls) const {
    in_flight_[CurrentStripe()].value.fetch_add(calls, std::memory_order_relaxed);
  }

  const double factor_;
  mutable std::array<Counter, kStripes> in_flight_;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_LOAD_BOUND_H_
