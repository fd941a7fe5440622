// What BackedRegistry hands out: leases and subscriptions.
#ifndef MARPC_REGISTRY_REGISTRY_HANDLES_H_
#define MARPC_REGISTRY_REGISTRY_HANDLES_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/registry/backed_registry.h"
#include "marpc/registry/record.h"

namespace marpc {

class BackedRegistry::EntryLease final : public Lease {
 public:
  EntryLease(std::shared_ptr<BackedRegistry> registry, std::shared_ptr<Entry> entry)
      : registry_(std::move(registry)), entry_(std::move(entry)) {}
  ~EntryLease() override { Withdraw(); }

  bool registered() const override { return entry_->registered.load(); }

  absl::Status Update(const Instance& instance) override {
    if (instance.endpoint != entry_->endpoint) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the entry of ", entry_->endpoint.ToString(), " cannot become one of '",
          instance.endpoint.ToString(), "'; release the lease and register the other"));
    }
    if (absl::Status status = CheckInstance(entry_->service, instance); !status.ok()) return status;
    if (absl::Status status = registry_->CheckOpen(); !status.ok()) return status;
    if (withdrawn_.load()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the lease of ", entry_->endpoint.ToString(), " is released"));
    }
    registry_->loop_->Post(
        [registry = registry_.get(), entry = entry_, instance = Instance(instance)]() mutable {
          instance.owner = entry->instance.owner;
          entry->instance = std::move(instance);
          if (registry->entries_.contains(entry)) registry->backend_->Change(entry);
        });
    return absl::OkStatus();
  }

  absl::Status Release(absl::Duration timeout) override {
    Withdraw();
    const std::optional<absl::Status> status = outcome_->WaitFor(timeout);
    if (status.has_value()) return *status;
    if (registry_->closed_.load()) return absl::OkStatus();
    return absl::DeadlineExceededError(absl::StrCat(
        "registry ", registry_->options_.name, " has not confirmed within ",
        absl::FormatDuration(timeout), " that the entry of ", entry_->endpoint.ToString(),
        " is gone; it goes when the registry is reachable, or when this process ends"));
  }

 private:
  void Withdraw() {
    if (withdrawn_.exchange(true)) return;
    {
      std::lock_guard<std::mutex> lock(registry_->mutex_);
      registry_->entered_.erase({entry_->service, entry_->endpoint});
    }
    registry_->loop_->Post([registry = registry_.get(), entry = entry_, outcome = outcome_] {
      registry->WithdrawOnLoop(entry, outcome);
    });
  }

  const std::shared_ptr<BackedRegistry> registry_;
  const std::shared_ptr<Entry> entry_;
  const std::shared_ptr<Outcome> outcome_ = std::make_shared<Outcome>();
  std::atomic<bool> withdrawn_{false};
};

class BackedRegistry::SlotSubscription final : public Subscription {
 public:
  SlotSubscription(std::shared_ptr<BackedRegistry> registry, std::string service,
                   std::shared_ptr<Fanout::Slot> slot)
      : registry_(std::move(registry)), service_(std::move(service)), slot_(std::move(slot)) {}
  ~SlotSubscription() override {
    registry_->fanout_->End(slot_);
    registry_->loop_->Post([registry = registry_.get(), service = service_, slot = slot_] {
      registry->RemoveSlot(service, slot);
    });
  }

 private:
  const std::shared_ptr<BackedRegistry> registry_;
  const std::string service_;
  const std::shared_ptr<Fanout::Slot> slot_;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_REGISTRY_HANDLES_H_
