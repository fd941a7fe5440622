// Where providers say that they are there, and consumers learn of it.
//
//   absl::StatusOr<std::shared_ptr<marpc::Registry>> registry = marpc::OpenRegistry(settings);
//   auto lease = (*registry)->Register("demo.HelloService", instance);     // a provider
//   auto watch = (*registry)->Subscribe("demo.HelloService", listener);    // a consumer
//
// Implementations (docs/guide/registry.md): `zookeeper://`, `file:` (processes of one machine),
// `memory:` (one process) and `static:` (a list in YAML). None of them loses an entry or a
// subscription to an outage: they go on by themselves when the registry is back.
#ifndef MARPC_REGISTRY_REGISTRY_H_
#define MARPC_REGISTRY_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/endpoint.h"
#include "marpc/base/instance.h"
#include "marpc/config/settings.h"
#include "marpc/registry/directives.h"

namespace marpc {

// All that is known of one service at one time. Immutable once published.
struct ServiceSnapshot {
  std::string service;
  // Sorted by endpoint; no endpoint twice.
  std::vector<Instance> instances;
  // Endpoints marked gray at runtime, for the whole cluster. May name instances that are not (or no
  // longer) there.
  std::set<Endpoint> gray_marks;
  // What operators have said about the service, for the whole cluster.
  Directives directives;
  // Until when the registry is known to have said so: for kRegistry, when the list became what it
  // is, and it holds still; for kKept, when the registry was lost or stopped saying so; for kDisk,
  // when the list was written.
  MonotonicTime confirmed_at;
  enum class Source {
    kRegistry,  // what the registry says
    kKept,  // the registry is unreachable, or said something not to be believed: the last good list
    kDisk,  // a cold start without a registry: the list of an earlier process
  };
  Source source = Source::kRegistry;
};

// A provider's entry. Destroying it deregisters, as Release() does.
class Lease {
 public:
  virtual ~Lease() = default;
  // True while the registry is known to hold the entry, owned by this process.
  virtual bool registered() const = 0;
  // Replaces the entry's data (weight, tags ...). InvalidArgument when the endpoint is another one;
  // FailedPrecondition when the lease was released or the registry closed.
  virtual absl::Status Update(const Instance& instance) = 0;
  // Takes the entry away; consumers are told. Waits for the registry's word for at most `timeout`.
  // Idempotent.
  virtual absl::Status Release(absl::Duration timeout) = 0;
};

// A subscription ends when this is destroyed; afterwards the listener is not called any more.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

// How the registry is doing, for messages, health and metrics.
struct RegistryState {
  enum class Connection { kConnecting, kConnected, kLost };
  Connection connection = Connection::kConnecting;
  // When `connection` became what it is.
  MonotonicTime since;
  std::string detail;
  // Entries that could not be read and were left out, since the start.
  uint64_t bad_entries = 0;
  // The directives that could not be read last, and why. Empty: all could, since the start.
  std::string bad_directives;
  // Entries of ours that were found missing or foreign and were repaired, since the start.
  uint64_t repaired_entries = 0;
};

// Thread-safe. Callbacks come from a thread of the registry, one at a time a subscription, never
// under a lock; they must not block, and may call the registry.
class Registry {
 public:
  using Listener = std::function<void(std::shared_ptr<const ServiceSnapshot>)>;

  virtual ~Registry() = default;

  // Enters `instance` and keeps it entered until the lease is released: through outages, expired
  // sessions and accidental deletion. Returns at once; Lease::registered() says when the registry
  // has it. InvalidArgument for a service name or endpoint that no entry can have.
  virtual absl::StatusOr<std::unique_ptr<Lease>> Register(absl::string_view service,
                                                          const Instance& instance) = 0;

  // Calls `listener` with the list as soon as one is known (an empty one included) and at every
  // change.
  virtual absl::StatusOr<std::unique_ptr<Subscription>> Subscribe(absl::string_view service,
                                                                  Listener listener) = 0;

  // Marks or unmarks an instance as gray for the whole cluster, or removes all marks of the
  // service. Waits for the registry's word for at most its connect timeout.
  virtual absl::Status SetGray(absl::string_view service, const Endpoint& endpoint, bool gray) = 0;
  virtual absl::Status ClearGray(absl::string_view service) = 0;

  // Says something about the service to all of its consumers, until it is taken back:
  // registry/directives.h. An empty value takes it back. Waits as SetGray() does. InvalidArgument
  // for what no registry can hold, or beyond the 64 KiB that a service has for all of them;
  // Unimplemented where there is no one to tell.
  virtual absl::Status SetDirective(absl::string_view service, absl::string_view key,
                                    absl::string_view value);

  virtual RegistryState state() const = 0;

  // Deregisters everything, ends every subscription and joins every thread. Idempotent; not to be
  // called from a listener. Everything but Close() and state() answers FailedPrecondition
  // afterwards.
  virtual void Close() = 0;
};

// Opens the registry that `settings.registry` names. Does not wait for it to be reachable.
// InvalidArgument for an address that cannot be understood; the message lists the known schemes.
absl::StatusOr<std::shared_ptr<Registry>> OpenRegistry(const Settings& settings,
                                                       const Clock& clock = Clock::Real());

}  // namespace marpc

#endif  // MARPC_REGISTRY_REGISTRY_H_
