#include "bench/sim/event_queue.h"

#include <algorithm>
#include <utility>

namespace marpc::sim {

bool EventQueue::Later(const Entry& a, const Entry& b) {
  return a.when != b.when ? a.when > b.when : a.number > b.number;
}

void EventQueue::At(MonotonicTime when, absl::AnyInvocable<void()> event) {
  heap_.push_back({std::max(when, now()), added_++, std::move(event)});
  std::push_heap(heap_.begin(), heap_.end(), Later);
}

void EventQueue::RunUntil(MonotonicTime end) {
  while (!heap_.empty() && heap_.front().when < end) {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    Entry next = std::move(heap_.back());
    heap_.pop_back();
    clock_->Set(next.when);
    next.event();
  }
  clock_->Set(end);
}

}  // namespace marpc::sim
