// A registry whose word is given by the test.
#ifndef MARPC_TESTS_PROVIDER_FAKE_REGISTRY_H_
#define MARPC_TESTS_PROVIDER_FAKE_REGISTRY_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "marpc/registry/registry.h"

namespace marpc::testing {

class FakeRegistry final : public Registry {
 public:
  // Whether leases count as registered.
  std::atomic<bool> confirms{true};
  // Called by every Release(), outside any lock.
  std::function<void()> on_release = [] {};
  // What Register() answers where not OK.
  absl::Status refusal;

  // The instances entered now, by service.
  std::map<std::string, Instance> entries() const {
    absl::MutexLock lock(&mutex_);
    return entries_;
  }

  absl::StatusOr<std::unique_ptr<Lease>> Register(absl::string_view service,
                                                  const Instance& instance) override {
    if (!refusal.ok()) return refusal;
    absl::MutexLock lock(&mutex_);
    entries_[std::string(service)] = instance;
    return std::make_unique<FakeLease>(*this, std::string(service));
  }
  absl::StatusOr<std::unique_ptr<Subscription>> Subscribe(absl::string_view, Listener) override {
    return absl::UnimplementedError("fake");
  }
  absl::Status SetGray(absl::string_view, const Endpoint&, bool) override {
    return absl::UnimplementedError("fake");
  }
  absl::Status ClearGray(absl::string_view) override { return absl::UnimplementedError("fake"); }
  RegistryState state() const override { return {}; }
  void Close() override {}

 private:
  class FakeLease final : public Lease {
   public:
    FakeLease(FakeRegistry& registry, std::string service)
        : registry_(registry), service_(std::move(service)) {}
    bool registered() const override { return registry_.confirms; }
    absl::Status Update(const Instance&) override { return absl::UnimplementedError("fake"); }
    absl::Status Release(absl::Duration) override {
      {
        absl::MutexLock lock(&registry_.mutex_);
        registry_.entries_.erase(service_);
      }
      registry_.on_release();
      return absl::OkStatus();
    }

   private:
    FakeRegistry& registry_;
    const std::string service_;
  };

  mutable absl::Mutex mutex_;
  std::map<std::string, Instance> entries_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_PROVIDER_FAKE_REGISTRY_H_
