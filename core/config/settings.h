// marpc's configuration as typed values. Every field is one key of the table in keys.h, which gives
// its name in YAML, its check and its line of help; the defaults are the initialisers here and
// nowhere else.
//
// Settings are values: they are read once, checked whole, and from then on immutable.
#ifndef MARPC_CONFIG_SETTINGS_H_
#define MARPC_CONFIG_SETTINGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/config/alert_settings.h"
#include "marpc/config/breaker_settings.h"
#include "marpc/config/degradation_settings.h"
#include "marpc/config/health_settings.h"
#include "marpc/config/limit_settings.h"
#include "marpc/config/load_balance_settings.h"
#include "marpc/config/outlier_settings.h"
#include "marpc/config/retry_settings.h"

namespace marpc {

struct CacheSettings {
  bool enabled = false;
  absl::Duration ttl = absl::Seconds(60);
  int64_t max_entries = 10'000;
  int64_t max_bytes = 64 << 20;
  // The RpcContext keys that make answers differ. Unset: all of them but the trace ids.
  std::optional<std::vector<std::string>> vary_on;
};

// The last good answer instead of a failure (core/filter/stale_answers.h). The same questions are
// those that CacheSettings::vary_on says.
struct StaleIfErrorSettings {
  bool enabled = false;
  absl::Duration max_age = absl::Minutes(10);
  int64_t max_entries = 1'000;
  int64_t max_bytes = 16 << 20;
};

struct MockSettings {
  bool enabled = false;
  // The mocked answer of one method: protobuf JSON of the reply ...
  std::optional<std::string> reply;
  // ... or a status.
  std::optional<absl::StatusCode> code;
  std::string message;
};

// Where a value comes from.
struct ValueOrigin {
  // In ascending order of precedence.
  enum class Source {
    kDefault,
    kIdempotencyLevel,  // protobuf's own option of the method
    kProtoService,      // option (marpc.service)
    kProtoMethod,       // option (marpc.method)
    kYamlGlobal,
    kYamlService,
    kYamlMethod,
    kCode,
  };
  Source source = Source::kDefault;
  // In the file; 0: in none.
  int line = 0;
  int column = 0;
  // The retry policy that brought the value along; empty: it was given itself.
  std::string policy = {};
  // The value that was given, as YAML. Where the field says otherwise, code has changed it since.
  std::string value = {};
};

// What may differ from method to method.
struct MethodSettings {
  RetrySettings retry;
  CircuitBreakerSettings circuit_breaker;
  CallLimitSettings limit;
  DegradationSettings degradation;
  CacheSettings cache;
  MockSettings mock;
  // What answers a call that is lost for good, in this order: the last good answer, ...
  StaleIfErrorSettings stale_if_error;
  // ... the fallback of that name in ConsumerOptions::fallbacks (empty: none), ...
  std::string fallback;
  // ... and this, protobuf JSON of the reply.
  std::optional<std::string> fallback_reply;
  // Of the values that were given, by key; the levels above included.
  std::map<std::string, ValueOrigin, std::less<>> origins;
};

struct GrayRouterSettings {
  bool enabled = false;
  int ratio = 0;  // percent, 0..100
};

// What may differ from service to service.
struct ServiceSettings {
  std::string load_balancer = "roundrobin";
  LoadBalanceSettings load_balance;
  GrayRouterSettings gray;
  OutlierSettings outlier;
  SlowStartSettings slow_start;
  // Where it begins; an operator changes it.
  DegradationLevel degradation_level = DegradationLevel::kNormal;
  HealthCheckSettings health_check;
  SharedBreakerSettings shared_breakers;
};

struct RegistrySettings {
  // zookeeper://host:port,host:port/chroot, file:/folder, memory:name or static:. Empty:
  // zookeeper:// at zk.address.
  std::string address;
  // The original marpc's key.
  std::string zk_address = "localhost:2181";
  absl::Duration session_timeout = absl::Seconds(10);
  // How long a start waits for the registry's first answer.
  absl::Duration connect_timeout = absl::Seconds(5);
  // ZooKeeper digest authentication, `user:password`. Never logged.
  std::string auth;
  // The nodes that marpc creates are writable only by `auth`'s user; everyone may read.
  bool acl = false;
  // Folder of the last known lists, read at a cold start without a registry. Empty: none is kept.
  std::string snapshot_dir;
  // A list that turns empty without its providers' own doing is kept for so long.
  absl::Duration empty_protection = absl::Minutes(10);
  // How often a provider looks whether its entry is still there and still its own.
  absl::Duration audit_interval = absl::Seconds(30);
  // For `static:`: service -> endpoints.
  std::map<std::string, std::vector<std::string>> static_instances;
};

struct TransportSettings {
  int64_t max_receive_message_size = 4 << 20;
  int64_t max_send_message_size = 64 << 20;
  absl::Duration keepalive_time = absl::Seconds(60);
  absl::Duration keepalive_timeout = absl::Seconds(20);
  absl::Duration reconnect_backoff_initial = absl::Milliseconds(100);
  absl::Duration reconnect_backoff_max = absl::Seconds(5);
  int connections_per_instance = 1;
  // Connect when an instance is listed, not at its first call.
  bool warm_up = false;
  // Without a call for so long, connections are closed until the next one. Zero: never.
  absl::Duration idle_timeout = absl::Minutes(30);
  // Call instances on this host by the unix socket that they tell of (ProviderSettings).
  bool local_socket = true;
};

struct ProviderSettings {
  // Where to listen.
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any free port
  // The original marpc's form of both: `host:port`. Wins over host and port where set.
  std::string instance;
  // What consumers are told, where it differs from where we listen. Empty: the listening endpoint.
  std::string advertise;
  // `unix:/path` to listen on as well, for consumers on this host. Empty: none.
  std::string local_socket;
  std::string zone;
  std::string version;
  std::string group;
  std::vector<std::string> tags;
  bool gray = false;
  int weight = 100;
  std::map<std::string, std::string> metadata;
  // Threads that run the handlers that are not quick.
  int threads = 16;
  // Requests waiting for a thread beyond which more are refused with RESOURCE_EXHAUSTED.
  int max_queued = 1000;
  ProviderLimitSettings limit;
  bool reflection = true;
  // Health says NOT_SERVING until the registry has the entry.
  bool wait_for_registration = false;
  // After deregistering, how long calls of consumers that have not noticed yet are still welcome.
  absl::Duration propagation_delay = absl::Milliseconds(500);
  // How long running calls may take to end at shutdown; then they are cancelled.
  absl::Duration drain_timeout = absl::Seconds(10);
  int64_t max_receive_message_size = 4 << 20;
  // The most often that a client may ping without a call in flight; below it, it is sent away.
  absl::Duration keepalive_min_interval = absl::Seconds(10);
};

// Everything a process is configured with.
struct Settings {
  std::string app = "marpc-app";
  std::string env = "dev";
  // Where the settings came from, for messages; empty when made in code.
  std::string source;
  RegistrySettings registry;
  TransportSettings transport;
  ProviderSettings provider;
  AlertSettings alerts;

  // The values at the top of the file.
  ServiceSettings service_defaults;
  MethodSettings method_defaults;

  // What one service or method says otherwise: made of the defaults above with the service's own
  // keys on top, and the method's own on top of these.
  struct PerService {
    ServiceSettings service;
    MethodSettings method_defaults;
    std::map<std::string, MethodSettings> methods;  // by the method's short name
  };
  std::map<std::string, PerService> services;  // by full name: demo.HelloService

  // The file's own named retry policies; their origins say which keys each of them gives.
  std::map<std::string, MethodSettings> retry_policies;

  // The settings in force for a service or a method.
  const ServiceSettings& ForService(absl::string_view service) const;
  const MethodSettings& ForMethod(absl::string_view service, absl::string_view method) const;
};

}  // namespace marpc

#endif  // MARPC_CONFIG_SETTINGS_H_
