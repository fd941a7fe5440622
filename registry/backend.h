// What a kind of registry has to do; all the rest (leases, subscriptions, outages, empty
// protection, snapshots on disk) is the same for all and in BackedRegistry.
//
// Everything here happens on the thread of the registry's EventLoop.
#ifndef MARPC_REGISTRY_BACKEND_H_
#define MARPC_REGISTRY_BACKEND_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "marpc/base/endpoint.h"
#include "marpc/base/instance.h"
#include "marpc/registry/registry.h"

namespace marpc {

// What the registry says of one service.
struct Reading {
  // In any order, no endpoint twice.
  std::vector<Instance> instances;
  std::set<Endpoint> gray_marks;
  Directives directives;
  // The owners that took their entries away themselves, or are known for certain to be dead. At
  // least those of the last hour.
  std::set<std::string> left;
};

// One lease, as long as anyone is interested in it.
struct Entry {
  Entry(std::string service, Instance instance, int64_t registered_at_unix_ms)
      : service(std::move(service)),
        registered_at_unix_ms(registered_at_unix_ms),
        endpoint(instance.endpoint),
        instance(std::move(instance)) {}

  // What is to be stored.
  std::string Json() const;

  const std::string service;
  const int64_t registered_at_unix_ms;
  const Endpoint endpoint;
  Instance instance;  // on the loop's thread
  std::atomic<bool> registered{false};
};

class Backend {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // Where a backend reports to.
  class Events {
   public:
    virtual ~Events() = default;
    virtual void OnConnection(RegistryState::Connection connection, absl::string_view detail) = 0;
    // Only while connected. Every reading counts as a confirmation, so one that brings nothing new
    // is welcome too.
    virtual void OnReading(const std::string& service, Reading reading) = 0;
    // `where` is the entry's full path. Once a version of the entry.
    virtual void OnBadEntry(absl::string_view where, const absl::Status& why) = 0;
    // An entry of ours was found gone or foreign, and is entered again.
    virtual void OnRepaired(absl::string_view where, absl::string_view why) = 0;
  };

  virtual ~Backend() = default;

  // Called first. Nothing else is reported before it.
  virtual void Start(Events* events) = 0;

  // Reports readings of the service from now on, the first as soon as there is one.
  virtual void Watch(const std::string& service) = 0;
  virtual void Unwatch(const std::string& service) = 0;

  // Enters the entry and keeps it entered, until Withdraw(). Sets entry->registered both ways.
  virtual void Enter(std::shared_ptr<Entry> entry) = 0;
  // entry->instance has changed.
  virtual void Change(const std::shared_ptr<Entry>& entry) = 0;
  // Takes the entry away; `done` when the registry has confirmed it, which may be long after.
  virtual void Withdraw(std::shared_ptr<Entry> entry, Done done) = 0;

  // Called only while connected. Unavailable: the connection broke, and it may be tried again.
  virtual void SetGray(const std::string& service, const Endpoint& endpoint, bool gray,
                       Done done) = 0;
  virtual void ClearGray(const std::string& service, Done done) = 0;

  // Sets one directive, or removes it where `value` is empty, and leaves the others as they are,
  // whoever else changes them meanwhile. As SetGray().
  virtual void SetDirective(const std::string& service, const std::string& key,
                            const std::string& value, Done done) = 0;

  // Called last; ends everything, and reports nothing any more. Must not wait for a peer.
  virtual void Stop() = 0;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_BACKEND_H_
