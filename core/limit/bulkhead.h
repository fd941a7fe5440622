// So many calls at a time, and a bounded line of those that wait for one of them to end.
//
//   Bulkhead bulkhead(/*max_concurrent=*/64, /*max_waiting=*/1000);
//   if (bulkhead.TryEnter()) { Call(); bulkhead.Leave(); }
//
// A slow peer then holds at most 64 of the caller's threads, and the rest go on with other work.
#ifndef MARPC_LIMIT_BULKHEAD_H_
#define MARPC_LIMIT_BULKHEAD_H_

#include <atomic>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/filter/pending_answer.h"
#include "marpc/limit/places.h"

namespace marpc {

// Thread-safe. Takes a lock only while calls wait.
class Bulkhead {
 public:
  // A call that waits.
  class Waiting {
   public:
    // Settled, with OK, when the call has its place.
    const std::shared_ptr<PendingAnswer>& turn() const { return turn_; }

   private:
    friend class Bulkhead;
    const std::shared_ptr<PendingAnswer> turn_ = std::make_shared<PendingAnswer>();
    bool entered_ = false;  // guarded by the bulkhead
  };

  Bulkhead(int max_concurrent, int max_waiting)
      : max_concurrent_(max_concurrent), max_waiting_(max_waiting) {}

  // False where there is no place, or others wait for one. True: Leave() must follow.
  bool TryEnter();
  // Goes to the end of the line; first come, first served. Null: the line is full.
  std::shared_ptr<Waiting> Queue();
  // Does not wait any more. True: it has its place already, and Leave() must follow.
  bool StopWaiting(const Waiting& waiting);
  void Leave();

  int under_way() const { return places_.taken(); }
  int waiting() const { return waiting_.load(std::memory_order_relaxed); }
  int max_concurrent() const { return max_concurrent_; }

 private:
  bool TakePlace() { return places_.TryTake(max_concurrent_); }

  const int max_concurrent_;
  const int max_waiting_;
  // One of two sees the other: who queues counts itself, then looks for a place; who leaves gives
  // its place back, then looks for those who wait.
  Places places_;
  std::atomic<int> waiting_{0};
  PlainMutex mutex_;
  std::deque<std::shared_ptr<Waiting>> line_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_LIMIT_BULKHEAD_H_
