// One registry on a MemoryHub.
#ifndef MARPC_REGISTRY_MEMORY_MEMORY_BACKEND_H_
#define MARPC_REGISTRY_MEMORY_MEMORY_BACKEND_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "marpc/registry/backend.h"
#include "marpc/registry/event_loop.h"
#include "marpc/registry/memory/memory_hub.h"

namespace marpc {

class MemoryBackend final : public Backend {
 public:
  MemoryBackend(std::shared_ptr<MemoryHub> hub, EventLoop& loop);

  void Start(Events* events) override;
  void Watch(const std::string& service) override;
  void Unwatch(const std::string& service) override;
  void Enter(std::shared_ptr<Entry> entry) override;
  void Change(const std::shared_ptr<Entry>& entry) override;
  void Withdraw(std::shared_ptr<Entry> entry, Done done) override;
  void SetGray(const std::string& service, const Endpoint& endpoint, bool gray, Done done) override;
  void ClearGray(const std::string& service, Done done) override;
  void SetDirective(const std::string& service, const std::string& key, const std::string& value,
                    Done done) override;
  void Stop() override;

 private:
  // Looks at everything again: at this size that is simpler than to track what has changed, and as
  // quick.
  void OnChanged();
  void Put(Entry& entry);
  void Repair(const std::shared_ptr<Entry>& entry);
  void ReportReading(const std::string& service);

  const std::shared_ptr<MemoryHub> hub_;
  EventLoop& loop_;
  Events* events_ = nullptr;
  int watcher_ = 0;
  bool reachable_ = false;
  std::set<std::string> watched_;
  std::set<std::shared_ptr<Entry>> entries_;
  std::vector<std::pair<std::shared_ptr<Entry>, Done>> withdrawing_;
  std::map<std::string, std::string> known_bad_;  // by path: the content that was warned of
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_MEMORY_MEMORY_BACKEND_H_
