// Calls that are started at a steady pace, whether or not the ones before them have ended: as from
// many users, who do not wait for each other.
#ifndef DEMO_CONSUMER_PACED_LOAD_H_
#define DEMO_CONSUMER_PACED_LOAD_H_

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "demo-consumer/ended_calls.h"
#include "demo/hello.marpc.h"
#include "marpc/consumer/call_options.h"

namespace demo {

// Thread-safe.
class PacedLoad {
 public:
  // Told of every call that has ended; called by many threads at once.
  using OnEnd = std::function<void(const marpc::CallReport& report)>;

  // The client outlives it.
  PacedLoad(const HelloServiceClient& client, absl::Duration period, OnEnd on_end);
  ~PacedLoad() { Stop(); }

  // As in EndedCalls.
  absl::Status WaitUntil(const std::string& what, std::function<bool()> condition,
                         absl::Duration timeout) {
    return ended_.WaitUntil(what, std::move(condition), timeout);
  }
  // Starts no more, and waits for those under way.
  EndedCalls::Totals Stop();

 private:
  void Run();
  void CallOnce();

  const HelloServiceClient& client_;
  const absl::Duration period_;
  const OnEnd on_end_;
  EndedCalls ended_;
  absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace demo

#endif  // DEMO_CONSUMER_PACED_LOAD_H_
