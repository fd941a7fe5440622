#include "marpc/registry/backed_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "marpc/observe/log.h"
#include "marpc/registry/record.h"
#include "marpc/registry/registry_handles.h"

namespace marpc {

absl::Status Registry::SetDirective(absl::string_view service, absl::string_view key,
                                    absl::string_view) {
  return absl::UnimplementedError(
      absl::StrCat("this registry holds no directives: ", key, " of ", service, " is not set"));
}

namespace {

using Connection = RegistryState::Connection;

// The ZooKeeper client may take as long again, and more, to part from a server that does not
// answer.
constexpr absl::Duration kCloseTimeout = absl::Milliseconds(500);

}  // namespace

BackedRegistry::BackedRegistry(Options options, const Clock& clock, std::unique_ptr<Fanout> fanout,
                               std::unique_ptr<EventLoop> loop)
    : options_(std::move(options)),
      clock_(clock),
      store_(options_.snapshot_dir, options_.environment),
      fanout_(std::move(fanout)),
      loop_(std::move(loop)) {
  state_.since = clock_.Now();
}

absl::StatusOr<std::shared_ptr<Registry>> BackedRegistry::Open(Options options, const Clock& clock,
                                                               const BackendFactory& factory) {
  absl::StatusOr<std::unique_ptr<Fanout>> fanout = Fanout::Create();
  if (!fanout.ok()) return fanout.status();
  absl::StatusOr<std::unique_ptr<EventLoop>> loop = EventLoop::Create("marpc-registry");
  if (!loop.ok()) return loop.status();
  std::shared_ptr<BackedRegistry> registry(
      new BackedRegistry(std::move(options), clock, *std::move(fanout), *std::move(loop)));
  registry->backend_ = factory(*registry->loop_);
  registry->loop_->Post([r = registry.get()] { r->backend_->Start(r); });
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
  loop_->Post([this, entry] { EnterOnLoop(entry); });
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

// --- marks and directives

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

absl::Status BackedRegistry::SetDirective(absl::string_view service, absl::string_view key,
                                          absl::string_view value) {
  if (absl::Status status = CheckServiceName(service); !status.ok()) return status;
  if (absl::Status status = CheckDirective(key, value); !status.ok()) return status;
  return RunOperation([this, service = std::string(service), key = std::string(key),
                       value = std::string(value)](Backend::Done done) {
    backend_->SetDirective(service, key, value, std::move(done));
  });
}

absl::Status BackedRegistry::RunOperation(std::function<void(Backend::Done)> run) {
  if (absl::Status status = CheckOpen(); !status.ok()) return status;
  auto outcome = std::make_shared<Outcome>();
  Operation operation{std::move(run), outcome, clock_.Now() + options_.connect_timeout};
  loop_->Post([this, operation = std::move(operation)] { StartOperation(operation); });
  const std::optional<absl::Status> status = outcome->WaitFor(options_.connect_timeout);
  if (status.has_value()) return *status;
  const RegistryState now = state();
  // What was sent cannot be called back.
  const bool may_be_sent = now.connection != Connection::kConnecting;
  return absl::UnavailableError(
      absl::StrCat("registry ", options_.name, " has not answered within ",
                   absl::FormatDuration(options_.connect_timeout), now.detail.empty() ? "" : ": ",
                   now.detail, may_be_sent ? "; the change may still take effect" : ""));
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
    if (connection != before.connection) {
      state_.connection = connection;
      state_.since = now;
    }
  }
  if (connection == Connection::kLost && before.connection != Connection::kLost) {
    Logger()->error("event=registry_lost registry={} why=\"{}\" services={} entries={}",
                    options_.name, std::string(detail), services_.size(), entries_.size());
    for (auto& [name, service] : services_) Publish(service, service.view.OnLost(now));
  }
  if (connection == Connection::kConnected) {
    if (before.connection == Connection::kLost) {
      Logger()->warn("event=registry_back registry={} lost_for={}", options_.name,
                     absl::FormatDuration(now - before.since));
    }
    // Also after a gap so short that it never counted as a loss: operations may have failed in it.
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
  // Not an instance, or a mark, of that name.
  if (absl::EndsWith(where, "/directives") && !absl::EndsWith(where, "/providers/directives") &&
      !absl::EndsWith(where, "/gray/directives")) {
    state_.bad_directives = absl::StrCat(where, ": ", why.message());
  }
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
    fanout_->Stop();
    auto outcome = std::make_shared<Outcome>();
    loop_->Post([this, outcome] { WithdrawAll(outcome); });
    outcome->WaitFor(kCloseTimeout);
    loop_->Post([this] {
      for (auto& [name, service] : services_) WriteSnapshot(service);
      backend_->Stop();
      for (const std::shared_ptr<Entry>& entry : entries_) entry->registered.store(false);
      waiting_.clear();
    });
    loop_->Stop();
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
