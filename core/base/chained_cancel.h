// A cancellation that follows another one.
#ifndef MARPC_BASE_CHAINED_CANCEL_H_
#define MARPC_BASE_CHAINED_CANCEL_H_

#include <memory>
#include <utility>

#include "marpc/base/cancel.h"

namespace marpc {

// The signal of one call, which goes off when its caller's does, and may go off alone. Thread-safe;
// allocates nothing as long as its parent has no other follower.
class ChainedCancelSignal final : public CancelSignal, private CancelSignal::Observer {
 public:
  // Null: follows nothing.
  explicit ChainedCancelSignal(std::shared_ptr<CancelSignal> parent) : parent_(std::move(parent)) {
    if (parent_ != nullptr && !parent_->Attach(this)) Cancel();
  }
  ~ChainedCancelSignal() override {
    if (parent_ != nullptr) parent_->Detach(this);
  }
  ChainedCancelSignal(const ChainedCancelSignal&) = delete;
  ChainedCancelSignal& operator=(const ChainedCancelSignal&) = delete;

 private:
  void OnCancel() override { Cancel(); }

  const std::shared_ptr<CancelSignal> parent_;
};

}  // namespace marpc

#endif  // MARPC_BASE_CHAINED_CANCEL_H_
