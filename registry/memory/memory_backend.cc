#include "marpc/registry/memory/memory_backend.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "marpc/registry/record.h"

namespace marpc {
namespace {

absl::Status Answer(bool done) {
  return done ? absl::OkStatus() : absl::UnavailableError("the memory registry is unreachable");
}

}  // namespace

MemoryBackend::MemoryBackend(std::shared_ptr<MemoryHub> hub, EventLoop& loop)
    : hub_(std::move(hub)), loop_(loop) {}

void MemoryBackend::Start(Events* events) {
  events_ = events;
  watcher_ = hub_->AddWatcher([this] { loop_.Post([this] { OnChanged(); }); });
  OnChanged();
}

void MemoryBackend::Stop() { hub_->RemoveWatcher(watcher_); }

void MemoryBackend::OnChanged() {
  const bool was_reachable = std::exchange(reachable_, hub_->reachable());
  if (!reachable_) {
    for (const std::shared_ptr<Entry>& entry : entries_) entry->registered.store(false);
    events_->OnConnection(RegistryState::Connection::kLost, "made unreachable");
    return;
  }
  events_->OnConnection(RegistryState::Connection::kConnected, "in this process");
  std::vector<std::pair<std::shared_ptr<Entry>, Done>> withdrawing = std::move(withdrawing_);
  withdrawing_.clear();
  for (auto& [entry, done] : withdrawing) Withdraw(std::move(entry), std::move(done));
  for (const std::shared_ptr<Entry>& entry : entries_) {
    if (was_reachable) {
      Repair(entry);
    } else {
      Put(*entry);
    }
  }
  for (const std::string& service : watched_) ReportReading(service);
}

void MemoryBackend::Put(Entry& entry) {
  entry.registered.store(hub_->Put(entry.service, EncodeName(entry.endpoint.ToString()),
                                   {entry.Json(), entry.instance.owner}));
}

void MemoryBackend::Repair(const std::shared_ptr<Entry>& entry) {
  const std::string name = EncodeName(entry->endpoint.ToString());
  if (hub_->Holds(entry->service, name)) return;
  events_->OnRepaired(absl::StrCat(entry->service, "/", name), "it was gone");
  Put(*entry);
}

void MemoryBackend::Watch(const std::string& service) {
  watched_.insert(service);
  ReportReading(service);
}

void MemoryBackend::Unwatch(const std::string& service) { watched_.erase(service); }

void MemoryBackend::ReportReading(const std::string& service) {
  const std::optional<MemoryHub::Contents> contents = hub_->Read(service);
  if (!contents.has_value()) return;
  Reading reading;
  reading.gray_marks = contents->gray_marks;
  reading.directives = contents->directives;
  reading.left = contents->left;
  for (const auto& [name, stored] : contents->entries) {
    absl::StatusOr<Instance> instance = ParseEntry(service, name, stored.json);
    if (instance.ok()) {
      reading.instances.push_back(*std::move(instance));
      continue;
    }
    const std::string path = absl::StrCat(service, "/", name);
    if (std::exchange(known_bad_[path], stored.json) != stored.json) {
      events_->OnBadEntry(path, instance.status());
    }
  }
  events_->OnReading(service, std::move(reading));
}

void MemoryBackend::Enter(std::shared_ptr<Entry> entry) {
  Put(*entry);
  entries_.insert(std::move(entry));
}

void MemoryBackend::Change(const std::shared_ptr<Entry>& entry) { Put(*entry); }

void MemoryBackend::Withdraw(std::shared_ptr<Entry> entry, Done done) {
  entries_.erase(entry);
  entry->registered.store(false);
  if (hub_->Remove(entry->service, EncodeName(entry->endpoint.ToString()), entry->instance.owner)) {
    done(absl::OkStatus());
  } else {
    withdrawing_.emplace_back(std::move(entry), std::move(done));
  }
}

void MemoryBackend::SetGray(const std::string& service, const Endpoint& endpoint, bool gray,
                            Done done) {
  done(Answer(hub_->SetGray(service, endpoint, gray)));
}

void MemoryBackend::ClearGray(const std::string& service, Done done) {
  done(Answer(hub_->ClearGray(service)));
}

void MemoryBackend::SetDirective(const std::string& service, const std::string& key,
                                 const std::string& value, Done done) {
  done(Answer(hub_->SetDirective(service, key, value)));
}

}  // namespace marpc
