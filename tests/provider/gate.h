// Holds handlers until the test lets them go.
#ifndef MARPC_TESTS_PROVIDER_GATE_H_
#define MARPC_TESTS_PROVIDER_GATE_H_

#include <functional>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace marpc::testing {

inline constexpr absl::Duration kPatience = absl::Seconds(30);

// True as soon as `happened` is; false when it has not happened in good time.
inline bool Eventually(const std::function<bool()>& happened) {
  absl::Mutex mutex;
  absl::MutexLock lock(&mutex);
  const bool never = false;
  for (int i = 0; i < 30'000; ++i) {
    if (happened()) return true;
    mutex.AwaitWithTimeout(absl::Condition(&never), absl::Milliseconds(1));
  }
  return false;
}

class Gate {
 public:
  // For the handler: waits until the gate is open or `given_up` says that it need not wait any
  // more; true when open.
  bool Pass(const std::function<bool()>& given_up = [] { return false; }) {
    {
      absl::MutexLock lock(&mutex_);
      ++arrived_;
    }
    return Eventually([&] { return open() || given_up(); }) && open();
  }
  // For the test.
  bool WaitForArrivals(int n) {
    return Eventually([&] {
      absl::MutexLock lock(&mutex_);
      return arrived_ >= n;
    });
  }
  void Open() {
    absl::MutexLock lock(&mutex_);
    open_ = true;
  }

 private:
  bool open() {
    absl::MutexLock lock(&mutex_);
    return open_;
  }
  absl::Mutex mutex_;
  int arrived_ = 0;
  bool open_ = false;
};

// A handler that answers once the gate is open.
inline auto Behind(Gate& gate) {
  return [&gate](auto&&...) {
    gate.Pass();
    return absl::OkStatus();
  };
}

}  // namespace marpc::testing

#endif  // MARPC_TESTS_PROVIDER_GATE_H_
