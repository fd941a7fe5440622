#include "marpc/limit/bulkhead.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"

namespace marpc {

bool Bulkhead::TryEnter() { return waiting_.load() == 0 && TakePlace(); }

std::shared_ptr<Bulkhead::Waiting> Bulkhead::Queue() {
  auto waiting = std::make_shared<Waiting>();
  {
    PlainMutexLock lock(&mutex_);
    if (line_.size() >= static_cast<size_t>(max_waiting_)) return nullptr;
    ++waiting_;
    // A place may have become free since.
    if (!line_.empty() || !TakePlace()) {
      line_.push_back(waiting);
      return waiting;
    }
    --waiting_;
    waiting->entered_ = true;
  }
  waiting->turn_->Settle(absl::OkStatus());
  return waiting;
}

bool Bulkhead::StopWaiting(const Waiting& waiting) {
  PlainMutexLock lock(&mutex_);
  if (waiting.entered_) return true;
  const auto it = std::find_if(line_.begin(), line_.end(),
                               [&](const auto& one) { return one.get() == &waiting; });
  if (it != line_.end()) {
    line_.erase(it);
    --waiting_;
  }
  return false;
}

void Bulkhead::Leave() {
  places_.GiveBack();
  while (waiting_.load() > 0) {
    std::shared_ptr<Waiting> next;
    {
      PlainMutexLock lock(&mutex_);
      if (line_.empty() || !TakePlace()) return;
      next = std::move(line_.front());
      line_.pop_front();
      --waiting_;
      next->entered_ = true;
    }
    next->turn_->Settle(absl::OkStatus());
  }
}

}  // namespace marpc
