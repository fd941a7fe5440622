// The calls of a consumer that have not ended, so that closing it can end them.
#ifndef MARPC_INVOKER_IN_FLIGHT_CALLS_H_
#define MARPC_INVOKER_IN_FLIGHT_CALLS_H_

#include <array>
#include <condition_variable>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "marpc/base/cancel.h"
#include "marpc/base/plain_mutex.h"

namespace marpc {

// Thread-safe. Threads are spread over shards, so that calls of different threads rarely meet.
class InFlightCalls {
 public:
  // One call; lives from Enter() to Leave(). `signal` must live as long.
  struct Entry {
    explicit Entry(CancelSignal* s) : signal(s) {}
    CancelSignal* const signal;
    Entry* previous = nullptr;
    Entry* next = nullptr;
    int shard = -1;
    std::thread::id told_by;
  };

  // False when closed: the call must not begin.
  [[nodiscard]] bool Enter(Entry& entry);
  // This thread is about to tell of the call's end, and the call leaves after that: who is told may
  // close, which does not wait for it then. Others do.
  void BeginToTell(Entry& entry);
  void Leave(Entry& entry);

  // Lets no further call in, cancels those that are there and waits until they have left, for at
  // most `timeout`. True when all have, but for those that this thread is telling of.
  bool Close(absl::Duration timeout);

 private:
  static constexpr int kShards = 16;
  struct alignas(64) Shard {
    bool AnyOfOthers() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
    PlainMutex mutex;
    std::condition_variable_any left;
    Entry* first ABSL_GUARDED_BY(mutex) = nullptr;
    bool closed ABSL_GUARDED_BY(mutex) = false;
  };

  std::array<Shard, kShards> shards_;
};

}  // namespace marpc

#endif  // MARPC_INVOKER_IN_FLIGHT_CALLS_H_
