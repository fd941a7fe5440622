// Parts that several services and methods of one consumer share by name.
//
//   SharedByName<RetryBudget> budgets;
//   std::shared_ptr<RetryBudget> budget =
//       budgets.Get("batch", [&] { return std::make_shared<RetryBudget>(settings, now); });
#ifndef MARPC_RETRY_SHARED_BY_NAME_H_
#define MARPC_RETRY_SHARED_BY_NAME_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

namespace marpc {

// Thread-safe.
template <typename Part>
class SharedByName {
 public:
  // Made when it is asked for first.
  std::shared_ptr<Part> Get(const std::string& name,
                            absl::FunctionRef<std::shared_ptr<Part>()> make) {
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<Part>& part = parts_[name];
    if (part == nullptr) part = make();
    return part;
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Part>> parts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_RETRY_SHARED_BY_NAME_H_
