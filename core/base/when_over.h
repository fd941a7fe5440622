// A timer's function that hears of its end either way: that it fired, or that it was dropped
// because the queue was stopped. Who waits for a timer would otherwise wait for ever.
#ifndef MARPC_BASE_WHEN_OVER_H_
#define MARPC_BASE_WHEN_OVER_H_

#include <optional>
#include <utility>

namespace marpc {

// Runs `end(dropped)` once when it is destroyed. For TimerQueue::At(), with or without Cancel().
template <typename End>
class WhenOver {
 public:
  explicit WhenOver(End end) : end_(std::move(end)) {}
  WhenOver(WhenOver&& other) noexcept
      : end_(std::exchange(other.end_, std::nullopt)), fired_(other.fired_) {}
  ~WhenOver() {
    if (end_.has_value()) (*end_)(/*dropped=*/!fired_);
  }
  void operator()() { fired_ = true; }

 private:
  std::optional<End> end_;
  bool fired_ = false;
};

}  // namespace marpc

#endif  // MARPC_BASE_WHEN_OVER_H_
