// What consumers are told: the part of BackedRegistry about subscriptions.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/observe/log.h"
#include "marpc/registry/backed_registry.h"
#include "marpc/registry/record.h"
#include "marpc/registry/registry_handles.h"

namespace marpc {
namespace {

// How long a first answer may take before the list on disk is used.
constexpr absl::Duration kFirstAnswer = absl::Milliseconds(500);
// Bursts of changes are one write.
constexpr absl::Duration kWriteDelay = absl::Milliseconds(200);

}  // namespace

absl::StatusOr<std::unique_ptr<Subscription>> BackedRegistry::Subscribe(absl::string_view service,
                                                                        Listener listener) {
  if (absl::Status status = CheckOpen(); !status.ok()) return status;
  if (absl::Status status = CheckServiceName(service); !status.ok()) return status;
  if (listener == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("a subscription to ", service, " needs a listener"));
  }
  std::shared_ptr<Fanout::Slot> slot = Fanout::MakeSlot(std::move(listener));
  loop_->Post([this, service = std::string(service), slot] { AddSlot(service, slot); });
  return std::make_unique<SlotSubscription>(shared_from_this(), std::string(service),
                                            std::move(slot));
}

void BackedRegistry::AddSlot(const std::string& name, std::shared_ptr<Fanout::Slot> slot) {
  auto found = services_.find(name);
  if (found != services_.end()) {
    found->second.slots.push_back(slot);
    if (found->second.view.current() != nullptr) {
      fanout_->Deliver(slot, found->second.view.current());
    }
    return;
  }
  // Who calls a service now is nothing to hold on to, nor to know of in the next process.
  const bool passing = IsConsumersList(name);
  const ServiceView::Options hold_nothing = {absl::ZeroDuration(), absl::ZeroDuration()};
  ServiceView view(name, passing ? hold_nothing : options_.view,
                   passing ? std::nullopt : store_.Read(name));
  Service& service = services_.try_emplace(name, std::move(view), passing).first->second;
  service.slots.push_back(std::move(slot));
  backend_->Watch(name);
  loop_->After(std::min(kFirstAnswer, options_.connect_timeout / 2), [this, name] {
    const auto later = services_.find(name);
    if (later != services_.end()) {
      Publish(later->second, later->second.view.OnNoAnswer(clock_.Now()));
    }
  });
}

void BackedRegistry::RemoveSlot(const std::string& name,
                                const std::shared_ptr<Fanout::Slot>& slot) {
  const auto found = services_.find(name);
  if (found == services_.end()) return;
  std::erase(found->second.slots, slot);
  if (!found->second.slots.empty()) return;
  backend_->Unwatch(name);
  WriteSnapshot(found->second);
  loop_->CancelTimer(found->second.change_timer);
  services_.erase(found);
}

void BackedRegistry::OnReading(const std::string& name, Reading reading) {
  const auto found = services_.find(name);
  if (found == services_.end()) return;
  Service& service = found->second;
  const size_t held_before = service.view.held();
  Publish(service, service.view.OnReading(std::move(reading), clock_.Now()));
  if (held_before == 0 && service.view.held() > 0) {
    Logger()->warn("event=registry_list_not_believed registry={} service={} held={} for={}",
                   options_.name, name, service.view.held(),
                   absl::FormatDuration(service.view.next_change() - clock_.Now()));
  }
  ScheduleChange(name, service);
  ScheduleWrite(name, service);
}

void BackedRegistry::Publish(Service& service, const ServiceView::Published& snapshot) {
  if (snapshot == nullptr) return;
  if (snapshot->source == ServiceSnapshot::Source::kRegistry) service.write_due = true;
  for (const std::shared_ptr<Fanout::Slot>& slot : service.slots) fanout_->Deliver(slot, snapshot);
}

void BackedRegistry::ScheduleChange(const std::string& name, Service& service) {
  loop_->CancelTimer(service.change_timer);
  service.change_timer = 0;
  const MonotonicTime at = service.view.next_change();
  if (at.is_infinite()) return;
  service.change_timer = loop_->After(at - clock_.Now(), [this, name] {
    const auto found = services_.find(name);
    if (found == services_.end()) return;
    Publish(found->second, found->second.view.OnTime(clock_.Now()));
    ScheduleWrite(name, found->second);
  });
}

void BackedRegistry::ScheduleWrite(const std::string& name, Service& service) {
  if (!service.write_due || !store_.enabled() || service.passing) return;
  loop_->After(kWriteDelay, [this, name] {
    const auto found = services_.find(name);
    if (found != services_.end()) WriteSnapshot(found->second);
  });
}

void BackedRegistry::WriteSnapshot(Service& service) {
  if (!service.write_due || !store_.enabled() || service.passing) return;
  service.write_due = false;
  const absl::Status status = store_.Write(*service.view.current());
  if (!status.ok())
    Logger()->warn("event=registry_snapshot_not_written why=\"{}\"", std::string(status.message()));
}

}  // namespace marpc
