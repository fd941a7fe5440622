// The calls under way of one thing that has a limit of them, and that limit, fixed or automatic.
#ifndef MARPC_LIMIT_LIMITED_CALLS_H_
#define MARPC_LIMIT_LIMITED_CALLS_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "marpc/config/limit_settings.h"
#include "marpc/limit/gradient_limit.h"
#include "marpc/limit/places.h"

namespace marpc {

// Thread-safe; takes no lock and allocates nothing.
class LimitedCalls {
 public:
  LimitedCalls(std::string name, const ConcurrencyLimit& limit, const GradientSettings& gradient)
      : name_(std::move(name)), fixed_(limit.calls) {
    if (limit.automatic) gradient_ = std::make_unique<GradientLimit>(gradient);
  }

  // `share`, in (0, 1]: the part of the limit that this kind of call may fill, at least one call.
  bool TryTake(double share) {
    return places_.TryTake(std::max(1, static_cast<int>(limit() * share)));
  }
  void GiveBack() { places_.GiveBack(); }
  // What a call that is about to be given back says of the limit.
  void OnCall(absl::Duration latency, MonotonicTime now) {
    if (gradient_ != nullptr) gradient_->OnCall(latency, under_way(), now);
  }

  const std::string& name() const { return name_; }
  int limit() const { return gradient_ != nullptr ? gradient_->limit() : fixed_; }
  bool automatic() const { return gradient_ != nullptr; }
  int under_way() const { return places_.taken(); }

 private:
  const std::string name_;
  const int fixed_;
  std::unique_ptr<GradientLimit> gradient_;  // null: fixed
  Places places_;
};

}  // namespace marpc

#endif  // MARPC_LIMIT_LIMITED_CALLS_H_
