#include "marpc/registry/backed_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "marpc/observe/log.h"
#include "marpc/registry/record.h"

namespace marpc {
namespace {

using Connection = RegistryState::Connection;

// How long a first answer may take before the list on disk is used.
constexpr absl::Duration kFirstAnswer = absl::Milliseconds(500);
// Bursts of changes are one write.
constexpr absl::Duration kWriteDelay = absl::Milliseconds(200);
// The ZooKeeper client may take as long again, and more, to part from a server that does not
// answer.
constexpr absl::Duration kCloseTimeout = absl::Milliseconds(500);

}  // namespace

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
    registry_->loop_.Post(
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
    registry_->loop_.Post([registry = registry_.get(), entry = entry_, outcome = outcome_] {
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
    registry_->fanout_.End(slot_);
    registry_->loop_.Post([registry = registry_.get(), service = service_, slot = slot_] {
      registry->RemoveSlot(service, slot);
    });
  }

 private:
  const std::shared_ptr<BackedRegistry> registry_;
  const std::string service_;
  const std::shared_ptr<Fanout::Slot> slot_;
};

BackedRegistry::BackedRegistry(Options options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      store_(options_.snapshot_dir, options_.environment),
      loop_("marpc-registry") {
  state_.since = clock_.Now();
}

std::shared_ptr<Registry> BackedRegistry::Open(Options options, const Clock& clock,
                                               const BackendFactory& factory) {
  std::shared_ptr<BackedRegistry> registry(new BackedRegistry(std::move(options), clock));
  registry->backend_ = factory(registry->loop_);
  registry->loop_.Post([r = registry.get()] { r->backend_->Start(r); });
  // Users' references close the registry when the last is dropped; those of leases and
  // subscriptions, which a listener may drop on the registry's own thread, only keep the memory.
  Registry* const raw = registry.get();
  return std::shared_ptr<Registry>(
      raw, [registry = std::move(registry)](Registry*) { registry->Close(); });
}

absl::Status BackedRegistry::CheckOpen() const {
  if (!closed_.load()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("registry ", options_.name, " is closed"));
}

// --- providers

absl::StatusOr<std::unique_ptr<Lease>> BackedRegistry::Register(absl::string_view service,
                                                                const Instance& instance) {
  if (absl::Status status = CheckOpen(); !status.ok()) return status;
  if (absl::Status status = CheckServiceName(service); !status.ok()) return status;
  if (absl::Status status = CheckInstance(service, instance); !status.ok()) return status;
  Instance owned = instance;
  if (owned.owner.empty()) owned.owner = NewOwner();
  auto entry = std::make_shared<Entry>(std::string(service), std::move(owned),
                                       absl::ToUnixMillis(absl::Now()));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!entered_.insert({entry->service, entry->endpoint}).second) {
      return absl::AlreadyExistsError(
          absl::StrCat(entry->endpoint.ToString(), " is entered for ", service,
                       " by another lease of this process; release that one first"));
    }
  }
  loop_.Post([this, entry] { EnterOnLoop(entry); });
  return std::make_unique<EntryLease>(shared_from_this(), std::move(entry));
}

void BackedRegistry::EnterOnLoop(std::shared_ptr<Entry> entry) {
  entries_.insert(entry);
  const auto place = leaving_.find({entry->service, entry->endpoint});
  if (place != leaving_.end()) {
    place->second = std::move(entry);
  } else {
    backend_->Enter(std::move(entry));
  }
}

void BackedRegistry::WithdrawOnLoop(const std::shared_ptr<Entry>& entry,
                                    std::shared_ptr<Outcome> outcome) {
  if (entries_.erase(entry) == 0) return outcome->Set(absl::OkStatus());
  const EntryKey key{entry->service, entry->endpoint};
  const auto place = leaving_.find(key);
  if (place != leaving_.end()) {
    // It never had the place it waited for.
    place->second = nullptr;
    return outcome->Set(absl::OkStatus());
  }
  leaving_[key] = nullptr;
  backend_->Withdraw(entry, [this, key, outcome = std::move(outcome)](absl::Status status) {
    outcome->Set(std::move(status));
    const auto left = leaving_.extract(key);
    if (!left.empty() && left.mapped() != nullptr) backend_->Enter(left.mapped());
    if (all_withdrawn_ != nullptr && leaving_.empty()) all_withdrawn_->Set(absl::OkStatus());
  });
}

// --- consumers

absl::StatusOr<std::unique_ptr<Subscription>> BackedRegistry::Subscribe(absl::string_view service,
                                                                        Listener listener) {
  if (absl::Status status = CheckOpen(); !status.ok()) return status;
  if (absl::Status status = CheckServiceName(service); !status.ok()) return status;
  if (listener == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("a subscription to ", service, " needs a listener"));
  }
  std::shared_ptr<Fanout::Slot> slot = Fanout::MakeSlot(std::move(listener));
  loop_.Post([this, service = std::string(service), slot] { AddSlot(service, slot); });
  return std::make_unique<SlotSubscription>(shared_from_this(), std::string(service),
                                            std::move(slot));
}

void BackedRegistry::AddSlot(const std::string& name, std::shared_ptr<Fanout::Slot> slot) {
  auto found = services_.find(name);
  if (found != services_.end()) {
    found->second.slots.push_back(slot);
    if (found->second.view.current() != nullptr) {
      fanout_.Deliver(slot, found->second.view.current());
    }
    return;
  }
  Service& service =
      services_.emplace(name, ServiceView(name, options_.view, store_.Read(name))).first->second;
  service.slots.push_back(std::move(slot));
  backend_->Watch(name);
  loop_.After(std::min(kFirstAnswer, options_.connect_timeout / 2), [this, name] {
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
  loop_.CancelTimer(found->second.change_timer);
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
  for (const std::shared_ptr<Fanout::Slot>& slot : service.slots) fanout_.Deliver(slot, snapshot);
}

void BackedRegistry::ScheduleChange(const std::string& name, Service& service) {
  loop_.CancelTimer(service.change_timer);
  service.change_timer = 0;
  const MonotonicTime at = service.view.next_change();
  if (at.is_infinite()) return;
  service.change_timer = loop_.After(at - clock_.Now(), [this, name] {
    const auto found = services_.find(name);
    if (found == services_.end()) return;
    Publish(found->second, found->second.view.OnTime(clock_.Now()));
    ScheduleWrite(name, found->second);
  });
}

void BackedRegistry::ScheduleWrite(const std::string& name, Service& service) {
  if (!service.write_due || !store_.enabled()) return;
  loop_.After(kWriteDelay, [this, name] {
    const auto found = services_.find(name);
    if (found != services_.end()) WriteSnapshot(found->second);
  });
}

void BackedRegistry::WriteSnapshot(Service& service) {
  if (!service.write_due || !store_.enabled()) return;
  service.write_due = false;
  const absl::Status status = store_.Write(*service.view.current());
  if (!status.ok())
    Logger()->warn("event=registry_snapshot_not_written why=\"{}\"", std::string(status.message()));
}

// --- marks

absl::Status BackedRegistry::SetGray(absl::string_view service, const Endpoint& endpoint,
                                     bool gray) {
  if (absl::Status status = CheckServiceName(service); !status.ok()) return status;
  Instance instance;
  instance.endpoint = endpoint;
  if (absl::Status status = CheckInstance(service, instance); !status.ok()) return status;
  return RunOperation([this, service = std::string(service), endpoint, gray](Backend::Done done) {
    backend_->SetGray(service, endpoint, gray, std::move(done));
  });
}

absl::Status BackedRegistry::ClearGray(absl::string_view service) {
  if (absl::Status status = CheckServiceName(service); !status.ok()) return status;
  return RunOperation([this, service = std::string(service)](Backend::Done done) {
    backend_->ClearGray(service, std::move(done));
  });
}

absl::Status BackedRegistry::RunOperation(std::function<void(Backend::Done)> run) {
  if (absl::Status status = CheckOpen(); !status.ok()) return status;
  auto outcome = std::make_shared<Outcome>();
  Operation operation{std::move(run), outcome, clock_.Now() + options_.connect_timeout};
  loop_.Post([this, operation = std::move(operation)] { StartOperation(operation); });
  const std::optional<absl::Status> status = outcome->WaitFor(options_.connect_timeout);
  if (status.has_value()) return *status;
  return absl::UnavailableError(
      absl::StrCat("registry ", options_.name, " has not answered within ",
                   absl::FormatDuration(options_.connect_timeout), ": ", state().detail));
}

void BackedRegistry::StartOperation(Operation operation) {
  // Its caller has gone: to do it now would surprise.
  if (clock_.Now() >= operation.expires) return;
  if (state().connection != Connection::kConnected) {
    waiting_.push_back(std::move(operation));
    return;
  }
  operation.run([this, operation](absl::Status status) {
    // The connection broke: the next one may do it.
    if (absl::IsUnavailable(status)) {
      waiting_.push_back(operation);
    } else {
      operation.outcome->Set(std::move(status));
    }
  });
}

// --- how it is doing

RegistryState BackedRegistry::state() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

void BackedRegistry::OnConnection(Connection connection, absl::string_view detail) {
  const MonotonicTime now = clock_.Now();
  RegistryState before;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    before = state_;
    state_.detail = std::string(detail);
    if (connection == before.connection) return;
    state_.connection = connection;
    state_.since = now;
  }
  if (connection == Connection::kLost) {
    Logger()->error("event=registry_lost registry={} why=\"{}\" services={} entries={}",
                    options_.name, std::string(detail), services_.size(), entries_.size());
    for (auto& [name, service] : services_) Publish(service, service.view.OnLost(now));
  }
  if (connection == Connection::kConnected) {
    if (before.connection == Connection::kLost) {
      Logger()->warn("event=registry_back registry={} lost_for={}", options_.name,
                     absl::FormatDuration(now - before.since));
    }
    std::deque<Operation> operations = std::move(waiting_);
    waiting_.clear();
    for (Operation& operation : operations) StartOperation(std::move(operation));
  }
}

void BackedRegistry::OnBadEntry(absl::string_view where, const absl::Status& why) {
  Logger()->warn("event=registry_bad_entry entry={} why=\"{}\"", std::string(where),
                 std::string(why.message()));
  std::lock_guard<std::mutex> lock(mutex_);
  ++state_.bad_entries;
}

void BackedRegistry::OnRepaired(absl::string_view where, absl::string_view why) {
  Logger()->warn("event=registry_entry_repaired entry={} why=\"{}\"", std::string(where),
                 std::string(why));
  std::lock_guard<std::mutex> lock(mutex_);
  ++state_.repaired_entries;
}

// --- the end

void BackedRegistry::Close() {
  std::call_once(close_once_, [this] {
    closed_.store(true);
    // First, while the loop can still answer what a listener that runs now may ask.
    fanout_.Stop();
    auto outcome = std::make_shared<Outcome>();
    loop_.Post([this, outcome] { WithdrawAll(outcome); });
    outcome->WaitFor(kCloseTimeout);
    loop_.Post([this] {
      for (auto& [name, service] : services_) WriteSnapshot(service);
      backend_->Stop();
      for (const std::shared_ptr<Entry>& entry : entries_) entry->registered.store(false);
      waiting_.clear();
    });
    loop_.Stop();
  });
}

void BackedRegistry::WithdrawAll(const std::shared_ptr<Outcome>& outcome) {
  all_withdrawn_ = outcome;
  const std::set<std::shared_ptr<Entry>> entries = entries_;
  for (const std::shared_ptr<Entry>& entry : entries) {
    WithdrawOnLoop(entry, std::make_shared<Outcome>());
  }
  // A registry that is lost already will hardly answer in time; its entries go with the process.
  if (leaving_.empty() || state().connection == Connection::kLost) outcome->Set(absl::OkStatus());
}

std::string Entry::Json() const {
  // Checked before it came here.
  return RecordToJson(ToRecord(service, instance, registered_at_unix_ms)).value_or("");
}

}  // namespace marpc
