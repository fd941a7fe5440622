// Gray marks of this process.
//
//   consumer->gray().Mark("127.0.0.1:5001");
#ifndef MARPC_CONSUMER_GRAY_MARKS_H_
#define MARPC_CONSUMER_GRAY_MARKS_H_

#include <functional>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/endpoint.h"

namespace marpc {

// Thread-safe. A mark acts on the next call; marks of instances that are not there have no effect.
class GrayMarks {
 public:
  // `changed` runs after each change, on the changing thread.
  explicit GrayMarks(std::function<void()> changed) : changed_(std::move(changed)) {}

  // InvalidArgument when `endpoint` is none.
  absl::Status Mark(absl::string_view endpoint);
  absl::Status Unmark(absl::string_view endpoint);
  void Clear();
  std::set<Endpoint> Marked() const;

 private:
  absl::Status Change(absl::string_view endpoint, bool gray);

  const std::function<void()> changed_;
  mutable absl::Mutex mutex_;
  std::set<Endpoint> marked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_CONSUMER_GRAY_MARKS_H_
