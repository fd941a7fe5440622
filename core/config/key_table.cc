// Every key of marpc's configuration, in the order of the reference.
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "marpc/config/alert_keys.h"
#include "marpc/config/breaker_keys.h"
#include "marpc/config/degradation_keys.h"
#include "marpc/config/health_keys.h"
#include "marpc/config/key_definition.h"
#include "marpc/config/keys.h"
#include "marpc/config/limit_keys.h"
#include "marpc/config/load_balance_keys.h"
#include "marpc/config/outlier_keys.h"
#include "marpc/config/retry_keys.h"
#include "marpc/config/value_type.h"

namespace marpc {
namespace {

constexpr absl::Duration kNone = absl::ZeroDuration();
constexpr absl::Duration kMillisecond = absl::Milliseconds(1);
constexpr absl::Duration kDay = absl::Hours(24);
constexpr int64_t kKiB = 1 << 10;
constexpr int64_t kGiB = 1 << 30;
// gRPC counts a message's bytes in an int.
constexpr int64_t kMaxMessage = 2047 * (kGiB / 1024);

std::vector<Key> ProcessKeys() {
  return {
      Define("app", At(&Settings::app), Name(), "orders",
             "The application's name, told to the registry and in logs."),
      Define("env", At(&Settings::env), Name(), "production",
             "The environment; processes of different ones do not see each other."),
  };
}

std::vector<Key> RegistryKeys() {
  using R = RegistrySettings;
  const auto at = [](auto R::*field) { return At(&Settings::registry, field); };
  return {
      Define("zk.address", at(&R::zk_address), ZookeeperAddress(), "zk1:2181,zk2:2181/marpc",
             "ZooKeeper's servers, with a chroot where wanted; used where registry.address is not "
             "given."),
      Define("registry.address", at(&R::address), RegistryAddress(), "file:/run/marpc",
             "Where providers register: zookeeper://host:port,.../chroot, file:/folder, "
             "memory:name or static."),
      Define("registry.sessionTimeout", at(&R::session_timeout),
             Time(absl::Milliseconds(100), absl::Minutes(10)), "6s",
             "How long the registry keeps the entry of a process that it cannot reach."),
      Define(
          "registry.connectTimeout", at(&R::connect_timeout), Time(kNone, absl::Minutes(10)), "2s",
          "How long is waited for the registry's word: for its first answer when a client or a "
          "channel is made, for a gray mark to be set, and for an entry to be gone when a provider "
          "stops."),
      Secret(Define("registry.auth", at(&R::auth),
                    Text("user:password", "user:password",
                         [](const std::string& text) {
                           return text.find(':') != 0 && absl::StrContains(text, ':');
                         }),
                    "'${ZK_AUTH:marpc:secret}'",
                    "ZooKeeper's digest authentication; kept out of logs and messages.")),
      Define("registry.acl", at(&R::acl), TrueOrFalse(), "true",
             "Let only the user of registry.auth write the nodes that marpc creates; everyone may "
             "read."),
      Define("registry.snapshotDir", at(&R::snapshot_dir), AnyText(), "/var/lib/marpc",
             "Folder that keeps the last known lists, for a cold start without a registry; empty: "
             "none is kept."),
      Define(
          "registry.emptyProtection", at(&R::empty_protection), Time(kNone, kDay), "1m",
          "How long a list that turns empty without its providers' doing is kept; 0: not at all."),
      Define("registry.auditInterval", at(&R::audit_interval), Time(absl::Milliseconds(100), kDay),
             "10s",
             "How often a provider looks whether its entry is still there and still its own."),
      Define("registry.static", at(&R::static_instances), MapOf(ListOf(EndpointText(false))),
             "{demo.HelloService: ['localhost:8080', 'localhost:8081']}",
             "For the registry static: the endpoints of each service."),
  };
}

std::vector<Key> TransportKeys() {
  using T = TransportSettings;
  const auto at = [](auto T::*field) { return At(&Settings::transport, field); };
  return {
      Define("transport.maxReceiveMessageSize", at(&T::max_receive_message_size),
             Size(kKiB, kMaxMessage), "16MiB", "The largest answer that a consumer accepts."),
      Define("transport.maxSendMessageSize", at(&T::max_send_message_size), Size(kKiB, kMaxMessage),
             "16MiB",
             "The largest message sent: a request by a consumer, an answer by a provider."),
      Define("transport.keepaliveTime", at(&T::keepalive_time), Time(absl::Seconds(1), kDay), "30s",
             "How long a connection is silent before the peer is asked whether it is alive; not "
             "below what providers permit."),
      Define("transport.keepaliveTimeout", at(&T::keepalive_timeout),
             Time(absl::Milliseconds(100), absl::Minutes(10)), "5s",
             "How long its answer may take before the connection is given up."),
      Define(
          "transport.reconnectBackoffInitial", at(&T::reconnect_backoff_initial),
          Time(absl::Milliseconds(10), absl::Hours(1)), "500ms",
          "The wait after the first failure to connect; 1.6 times as long after each further one."),
      Define("transport.reconnectBackoffMax", at(&T::reconnect_backoff_max),
             Time(absl::Milliseconds(10), absl::Hours(1)), "10s",
             "The longest wait between two tries to connect."),
      Define("transport.connectionsPerInstance", at(&T::connections_per_instance),
             Whole<int>(1, 64), "2",
             "Connections to each instance, which calls take in turn: more than one where one does "
             "not carry the load."),
      Define("transport.warmUp", at(&T::warm_up), TrueOrFalse(), "true",
             "Connect to every instance when it is listed, not at its first call."),
      Define("transport.idleTimeout", at(&T::idle_timeout), Time(kNone, kDay), "5m",
             "After so long without a call a connection is closed until the next one; less than 1s "
             "counts as 1s; 0: never."),
      Define("transport.localSocket", at(&T::local_socket), TrueOrFalse(), "false",
             "Call instances on this host by the unix socket that they tell of "
             "(provider.localSocket), and by their endpoint where that fails."),
  };
}

std::vector<Key> ProviderKeys() {
  using P = ProviderSettings;
  const auto at = [](auto P::*field) { return At(&Settings::provider, field); };
  const auto host = Text("host", "a host name or address", [](const std::string& text) {
    return !text.empty() && text.find_first_of(" /\t") == std::string::npos;
  });
  return {
      Define(
          "provider.instance", at(&P::instance), EndpointText(true), "'localhost:8080'",
          "Where to listen, as host:port; wins over provider.host and provider.port where given."),
      Define("provider.host", at(&P::host), host, "0.0.0.0", "The address to listen on."),
      Define("provider.port", at(&P::port), Whole<int>(0, 65535), "8080",
             "The port to listen on; 0: any free one."),
      Define("provider.advertise", at(&P::advertise), EndpointText(false), "'10.0.0.7:8080'",
             "The endpoint that consumers are told, where it differs from the one listened on."),
      Define("provider.localSocket", at(&P::local_socket), UnixSocketText(),
             "'unix:/run/users/marpc.sock'",
             "A unix socket to listen on as well, by which consumers on the same host make their "
             "calls; empty: none."),
      Define("provider.zone", at(&P::zone), AnyText(), "eu-1a",
             "Where the process runs, for consumers to know: loadBalance.locality goes by it."),
      Define("provider.version", at(&P::version), AnyText(), "1.10",
             "The version served, for consumers to know; marpc's own routers do not use it."),
      Define("provider.group", at(&P::group), AnyText(), "blue",
             "The group it belongs to, for consumers to know; marpc's own routers do not use it."),
      Define("provider.tags", at(&P::tags), ListOf(AnyText()), "[ssd, canary]",
             "Tags, for consumers to know; marpc's own routers do not use them."),
      Define("provider.gray", at(&P::gray), TrueOrFalse(), "true",
             "A gray instance: takes the gray router's share of the calls."),
      Define(
          "provider.weight", at(&P::weight), Whole<int>(0, 10'000), "50",
          "Share of the traffic relative to the other instances, by balancers that go by weight; "
          "0: drained."),
      Define("provider.metadata", at(&P::metadata), MapOf(AnyText()), "{team: payments}",
             "Key-values of your own, told to consumers."),
      Define("provider.threads", at(&P::threads), Whole<int>(1, 10'000), "32",
             "Threads that run the handlers that are not quick."),
      Define("provider.maxQueued", at(&P::max_queued), Whole<int>(0, 10'000'000), "200",
             "Requests that may wait for a thread; more are refused with RESOURCE_EXHAUSTED."),
      Define("provider.reflection", at(&P::reflection), TrueOrFalse(), "false",
             "Serve gRPC's server reflection."),
      Define("provider.waitForRegistration", at(&P::wait_for_registration), TrueOrFalse(), "true",
             "Health says NOT_SERVING until the registry has the entry."),
      Define(
          "provider.propagationDelay", at(&P::propagation_delay), Time(kNone, absl::Minutes(10)),
          "2s",
          "After deregistering, how long calls of consumers that have not noticed yet are served."),
      Define("provider.drainTimeout", at(&P::drain_timeout), Time(kNone, absl::Hours(1)), "30s",
             "How long running calls may take to end at shutdown; then they are cancelled."),
      Define("provider.maxReceiveMessageSize", at(&P::max_receive_message_size),
             Size(kKiB, kMaxMessage), "16MiB", "The largest request that is accepted."),
      Define("provider.keepaliveMinInterval", at(&P::keepalive_min_interval),
             Time(absl::Milliseconds(100), kDay), "5s",
             "The most often that a client may ask whether we are alive; one that asks more often "
             "is sent away."),
  };
}

std::vector<Key> RoutingKeys() {
  using G = GrayRouterSettings;
  return {
      Define("loadbalancer", At(&ServiceSettings::load_balancer), LoadBalancerName(), "random",
             "How an instance is picked among those that the routers leave."),
      Define("router.gray.enabled", At(&ServiceSettings::gray, &G::enabled), TrueOrFalse(), "true",
             "Send a share of the calls to gray instances."),
      Define("router.gray.ratio", At(&ServiceSettings::gray, &G::ratio), Whole<int>(0, 100), "50",
             "The share, in percent; 0 and 100 are exact."),
  };
}

std::vector<Key> FilterKeys() {
  using M = MethodSettings;
  const auto cache = [](auto CacheSettings::*field) { return At(&M::cache, field); };
  const auto mock = [](auto MockSettings::*field) { return At(&M::mock, field); };
  const auto stale = [](auto StaleIfErrorSettings::*field) {
    return At(&M::stale_if_error, field);
  };
  return {
      Define("filter.cache.enabled", cache(&CacheSettings::enabled), TrueOrFalse(), "true",
             "Keep answers and give them again."),
      Define("filter.cache.ttl", cache(&CacheSettings::ttl),
             Time(kMillisecond, absl::Hours(24 * 30)), "5s", "How long an answer is good."),
      Define("filter.cache.maxEntries", cache(&CacheSettings::max_entries),
             Whole<int64_t>(1, 100'000'000), "1000",
             "Answers kept, at most; the least recently used go first."),
      Define("filter.cache.maxBytes", cache(&CacheSettings::max_bytes), Size(kKiB, 64 * kGiB),
             "1MiB", "Bytes kept, at most."),
      Define("filter.cache.varyOn", cache(&CacheSettings::vary_on),
             Optional(ListOf(AnyText()), "all but trace ids"), "[userId]",
             "The RpcContext keys whose values make answers differ; []: none."),
      Define("filter.mock.enabled", mock(&MockSettings::enabled), TrueOrFalse(), "true",
             "Answer from mocks, given in code or below, instead of calling."),
      Only({Level::kMethod},
           Define("filter.mock.reply", mock(&MockSettings::reply), Optional(AnyText(), "none"),
                  "'{\"message\": \"hi\"}'", "The method's mocked answer, as protobuf JSON.")),
      Only({Level::kMethod},
           Define("filter.mock.code", mock(&MockSettings::code), Optional(ErrorCode(), "none"),
                  "NOT_FOUND", "The status that it is mocked with instead.")),
      Only({Level::kMethod}, Define("filter.mock.message", mock(&MockSettings::message), AnyText(),
                                    "gone", "That status's message.")),
      Define("staleIfError.enabled", stale(&StaleIfErrorSettings::enabled), TrueOrFalse(), "true",
             "Keep the last good answers; a call that is lost for good gets the one to the same "
             "question (filter.cache.varyOn)."),
      Define("staleIfError.maxAge", stale(&StaleIfErrorSettings::max_age),
             Time(kMillisecond, absl::Hours(24 * 30)), "1h", "How old it may be."),
      Define("staleIfError.maxEntries", stale(&StaleIfErrorSettings::max_entries),
             Whole<int64_t>(1, 100'000'000), "100",
             "Answers kept for the method, at most; the least recently used go first."),
      Define("staleIfError.maxBytes", stale(&StaleIfErrorSettings::max_bytes),
             Size(kKiB, 64 * kGiB), "1MiB", "Bytes kept for the method, at most."),
      Define("fallback", At(&M::fallback), AnyText(), "cached-hello",
             "The fallback, by the name it was registered with in code, that answers when all is "
             "spent; empty: none."),
      Only({Level::kMethod},
           Define("fallbackReply", At(&M::fallback_reply), Optional(AnyText(), "none"),
                  "'{\"message\": \"sorry\"}'",
                  "The answer, as protobuf JSON, when all is spent and the fallback, if there is "
                  "one, has failed too.")),
  };
}

std::vector<Key> AllKeys() {
  std::vector<Key> all;
  for (auto group : {ProcessKeys, RegistryKeys, RoutingKeys, LoadBalanceKeys, RetryKeys,
                     BreakerKeys, OutlierKeys, HealthKeys, CallLimitKeys, DegradationKeys,
                     AlertKeys, FilterKeys, TransportKeys, ProviderKeys, ProviderLimitKeys}) {
    std::vector<Key> keys = group();
    std::move(keys.begin(), keys.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

const std::vector<Key>& Keys() {
  static const std::vector<Key>& keys = *new std::vector<Key>(AllKeys());
  return keys;
}

}  // namespace marpc
