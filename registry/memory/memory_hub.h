// What all `memory:` registries of one name in this process share, with the controls that tests
// need.
//
//   std::shared_ptr<marpc::MemoryHub> hub = marpc::MemoryHub::Named("test");
//   settings.registry.address = "memory:test";
//   auto registry = marpc::OpenRegistry(settings);
//   hub->SetReachable(false);     // an outage: consumers keep their lists
#ifndef MARPC_REGISTRY_MEMORY_MEMORY_HUB_H_
#define MARPC_REGISTRY_MEMORY_MEMORY_HUB_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "marpc/base/endpoint.h"
#include "marpc/registry/directives.h"

namespace marpc {

// Thread-safe. Lives as long as a registry of its name is open or a test holds it.
class MemoryHub {
 public:
  static std::shared_ptr<MemoryHub> Named(absl::string_view name);

  // --- for tests

  // Unreachable, it answers nothing and changes nothing, and registries say that they have lost it.
  void SetReachable(bool reachable);
  // All entries vanish, as from a registry whose disk was wiped; providers find out and enter
  // theirs again.
  void ForgetEntries();
  // One entry vanishes, as if an operator had deleted it.
  void ForgetEntry(absl::string_view service, const Endpoint& endpoint);
  // Lists come out empty although the entries are there.
  void SetListsEmpty(bool empty);
  // Stores `json` under `name` as it is.
  void PutRaw(absl::string_view service, absl::string_view name, absl::string_view json);

  // --- for MemoryBackend

  struct StoredEntry {
    std::string json;
    std::string owner;
  };
  struct Contents {
    std::map<std::string, StoredEntry> entries;  // by encoded endpoint
    std::set<Endpoint> gray_marks;
    Directives directives;
    std::set<std::string> left;
  };

  // Runs `changed` at every change, under the hub's lock: it must only set things in motion.
  int AddWatcher(absl::AnyInvocable<void()> changed);
  void RemoveWatcher(int id);

  bool reachable() const;
  // Whether the entry is there, and not only in lists.
  bool Holds(const std::string& service, const std::string& name) const;
  // None while unreachable.
  std::optional<Contents> Read(const std::string& service) const;
  // These answer false, and do nothing, while unreachable.
  bool Put(const std::string& service, const std::string& name, StoredEntry entry);
  bool Remove(const std::string& service, const std::string& name, const std::string& owner);
  bool SetGray(const std::string& service, const Endpoint& endpoint, bool gray);
  bool ClearGray(const std::string& service);
  bool SetDirective(const std::string& service, const std::string& key, const std::string& value);

 private:
  void NotifyLocked();

  mutable std::mutex mutex_;
  bool reachable_ = true;
  bool lists_empty_ = false;
  std::map<std::string, Contents> services_;
  std::map<int, absl::AnyInvocable<void()>> watchers_;
  int next_watcher_ = 1;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_MEMORY_MEMORY_HUB_H_
