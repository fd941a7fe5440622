// What tests of registries need: lists as they arrive, and instances to enter.
#ifndef MARPC_TESTS_REGISTRY_REGISTRY_FIXTURE_H_
#define MARPC_TESTS_REGISTRY_REGISTRY_FIXTURE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "marpc/registry/registry.h"

namespace marpc {

inline constexpr char kService[] = "demo.HelloService";
// Far longer than anything here takes; a test that waits so long has failed.
inline constexpr std::chrono::seconds kDeadline{30};

inline Instance MakeInstance(absl::string_view endpoint) {
  Instance instance;
  instance.endpoint = *Endpoint::Parse(endpoint);
  instance.app = "test";
  return instance;
}

inline std::vector<std::string> EndpointsOf(const ServiceSnapshot& snapshot) {
  std::vector<std::string> endpoints;
  for (const Instance& instance : snapshot.instances) {
    endpoints.push_back(instance.endpoint.ToString());
  }
  return endpoints;
}

// A condition that no one tells of, looked at until it holds.
inline bool Eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// A listener that keeps what it was told. Thread-safe; copies share what they keep.
class Recorder {
 public:
  using Snapshot = std::shared_ptr<const ServiceSnapshot>;

  Registry::Listener listener() const {
    return [state = state_](Snapshot snapshot) {
      std::lock_guard<std::mutex> lock(state->mutex);
      state->last = std::move(snapshot);
      ++state->count;
      state->changed.notify_all();
    };
  }

  // The last list, once it fulfils `wanted`; null when it does not in time.
  Snapshot WaitFor(const std::function<bool(const ServiceSnapshot&)>& wanted) const {
    std::unique_lock<std::mutex> lock(state_->mutex);
    const bool found = state_->changed.wait_until(
        lock, std::chrono::steady_clock::now() + kDeadline,
        [&] { return state_->last != nullptr && wanted(*state_->last); });
    return found ? state_->last : nullptr;
  }
  Snapshot WaitForEndpoints(const std::vector<std::string>& endpoints) const {
    return WaitFor([&](const ServiceSnapshot& s) { return EndpointsOf(s) == endpoints; });
  }
  Snapshot WaitForSource(ServiceSnapshot::Source source) const {
    return WaitFor([&](const ServiceSnapshot& s) { return s.source == source; });
  }
  Snapshot last() const {
    std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->last;
  }
  int count() const {
    std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->count;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    Snapshot last;
    int count = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace marpc

#endif  // MARPC_TESTS_REGISTRY_REGISTRY_FIXTURE_H_
