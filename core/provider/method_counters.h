// How many calls came to each method of a provider, and what became of them.
#ifndef MARPC_PROVIDER_METHOD_COUNTERS_H_
#define MARPC_PROVIDER_METHOD_COUNTERS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace marpc {

// One method's calls since the start.
struct MethodCalls {
  uint64_t arrived = 0;
  uint64_t ok = 0;
  // The handler answered with a failure, or its answer could not be sent.
  uint64_t failed = 0;
  // Never reached the handler: queue full, unreadable request, cancelled or past the deadline while
  // it waited.
  uint64_t refused = 0;

  uint64_t running() const { return arrived - ok - failed - refused; }
};

// The counters of all methods. Thread-safe.
class MethodCounters {
 public:
  struct alignas(64) Cell {
    std::atomic<uint64_t> arrived{0};
    std::atomic<uint64_t> ok{0};
    std::atomic<uint64_t> failed{0};
    std::atomic<uint64_t> refused{0};
  };

  // The method's cell, made at the first asking; lives as long as this. `method` is
  // demo.HelloService/Hello.
  Cell& Of(absl::string_view method);

  // Zeros for a method that was never called.
  MethodCalls Read(absl::string_view method) const;
  std::map<std::string, MethodCalls> ReadAll() const;

 private:
  mutable absl::Mutex mutex_;
  // Node-based: a cell keeps its address.
  std::map<std::string, Cell, std::less<>> cells_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_METHOD_COUNTERS_H_
