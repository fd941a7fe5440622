#include "marpc/registry/memory/memory_hub.h"

#include <utility>

#include "marpc/registry/record.h"

namespace marpc {

std::shared_ptr<MemoryHub> MemoryHub::Named(absl::string_view name) {
  struct Hubs {
    std::mutex mutex;
    std::map<std::string, std::weak_ptr<MemoryHub>> by_name;
  };
  // Never destroyed: a registry may be opened or closed by static destructors.
  static Hubs& hubs = *new Hubs;
  std::lock_guard<std::mutex> lock(hubs.mutex);
  std::erase_if(hubs.by_name, [](const auto& hub) { return hub.second.expired(); });
  std::weak_ptr<MemoryHub>& known = hubs.by_name[std::string(name)];
  std::shared_ptr<MemoryHub> hub = known.lock();
  if (hub == nullptr) known = hub = std::make_shared<MemoryHub>();
  return hub;
}

void MemoryHub::SetReachable(bool reachable) {
  std::lock_guard<std::mutex> lock(mutex_);
  reachable_ = reachable;
  NotifyLocked();
}

void MemoryHub::ForgetEntries() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [service, contents] : services_) contents.entries.clear();
  NotifyLocked();
}

void MemoryHub::ForgetEntry(absl::string_view service, const Endpoint& endpoint) {
  std::lock_guard<std::mutex> lock(mutex_);
  services_[std::string(service)].entries.erase(EncodeName(endpoint.ToString()));
  NotifyLocked();
}

void MemoryHub::SetListsEmpty(bool empty) {
  std::lock_guard<std::mutex> lock(mutex_);
  lists_empty_ = empty;
  NotifyLocked();
}

void MemoryHub::PutRaw(absl::string_view service, absl::string_view name, absl::string_view json) {
  std::lock_guard<std::mutex> lock(mutex_);
  services_[std::string(service)].entries[std::string(name)] = {std::string(json), ""};
  NotifyLocked();
}

int MemoryHub::AddWatcher(absl::AnyInvocable<void()> changed) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int id = next_watcher_++;
  watchers_.emplace(id, std::move(changed));
  return id;
}

void MemoryHub::RemoveWatcher(int id) {
  std::lock_guard<std::mutex> lock(mutex_);
  watchers_.erase(id);
}

bool MemoryHub::reachable() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return reachable_;
}

bool MemoryHub::Holds(const std::string& service, const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = services_.find(service);
  return found != services_.end() && found->second.entries.contains(name);
}

std::optional<MemoryHub::Contents> MemoryHub::Read(const std::string& service) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!reachable_) return std::nullopt;
  const auto found = services_.find(service);
  Contents contents = found == services_.end() ? Contents() : found->second;
  if (lists_empty_) contents.entries.clear();
  return contents;
}

bool MemoryHub::Put(const std::string& service, const std::string& name, StoredEntry entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!reachable_) return false;
  services_[service].left.erase(entry.owner);
  services_[service].entries[name] = std::move(entry);
  NotifyLocked();
  return true;
}

bool MemoryHub::Remove(const std::string& service, const std::string& name,
                       const std::string& owner) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!reachable_) return false;
  Contents& contents = services_[service];
  contents.left.insert(owner);
  const auto found = contents.entries.find(name);
  if (found != contents.entries.end() && found->second.owner == owner) {
    contents.entries.erase(found);
  }
  NotifyLocked();
  return true;
}

bool MemoryHub::SetGray(const std::string& service, const Endpoint& endpoint, bool gray) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!reachable_) return false;
  std::set<Endpoint>& marks = services_[service].gray_marks;
  if (gray) {
    marks.insert(endpoint);
  } else {
    marks.erase(endpoint);
  }
  NotifyLocked();
  return true;
}

bool MemoryHub::ClearGray(const std::string& service) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!reachable_) return false;
  services_[service].gray_marks.clear();
  NotifyLocked();
  return true;
}

bool MemoryHub::SetDirective(const std::string& service, const std::string& key,
                             const std::string& value) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!reachable_) return false;
  if (ApplyDirective(services_[service].directives, key, value)) NotifyLocked();
  return true;
}

void MemoryHub::NotifyLocked() {
  for (auto& [id, changed] : watchers_) changed();
}

}  // namespace marpc
