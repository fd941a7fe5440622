// A connection without a network: the test decides when and how its attempts end.
#ifndef MARPC_TESTS_INVOKER_SCRIPTED_CONNECTION_H_
#define MARPC_TESTS_INVOKER_SCRIPTED_CONNECTION_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/wrappers.pb.h"
#include "marpc/base/timer_queue.h"
#include "marpc/filter/cache_filter.h"
#include "marpc/filter/filter.h"
#include "marpc/invoker/connected_instance.h"
#include "marpc/invoker/service_state.h"
#include "marpc/loadbalance/round_robin.h"
#include "marpc/retry/hedging.h"
#include "marpc/retry/retry_listener.h"
#include "marpc/transport/transport.h"

namespace marpc::testing {

class ScriptedConnection final : public Connection {
 public:
  using Done = absl::AnyInvocable<void(AttemptOutcome)>;
  // Ends the attempt by calling `done` now, later or elsewhere.
  using Script = std::function<void(const AttemptRequest& request, Done done)>;

  explicit ScriptedConnection(Script script) : script_(std::move(script)) {}

  AttemptOutcome Call(const AttemptRequest& request) override {
    AttemptOutcome result;
    Start(request, [&](AttemptOutcome outcome) { result = std::move(outcome); });
    return result;
  }
  void Start(const AttemptRequest& request, Done done) override {
    attempts_.fetch_add(1);
    script_(request, std::move(done));
  }
  void ResetBackoff() override {}
  void Retire() override {}

  int attempts() const { return attempts_.load(); }

 private:
  const Script script_;
  std::atomic<int> attempts_{0};
};

// A service on the real clock with one instance for each script: "a", "b" ...
class ScriptedService {
 public:
  ScriptedService(MethodSettings settings, std::vector<ScriptedConnection::Script> scripts,
                  std::shared_ptr<Filter> filter = nullptr,
                  std::shared_ptr<RetryListener> listener = nullptr,
                  std::shared_ptr<LoadBalancer> balancer = std::make_shared<RoundRobin>(0))
      : balancer_(std::move(balancer)), cell_(nullptr) {
    auto policy = std::make_shared<MethodPolicy>();
    policy->method = &method_;
    policy->idempotent = true;
    if (settings.cache.enabled) policy->filters.push_back(cache_);
    if (filter != nullptr) policy->filters.push_back(std::move(filter));
    if (listener != nullptr) policy->retry_listeners.push_back(std::move(listener));
    if (settings.retry.hedging.enabled) {
      policy->hedging = std::make_shared<Hedging>(settings.retry.hedging, Clock::Real().Now());
    }
    policy->settings = std::move(settings);
    auto state = std::make_shared<ServiceState>();
    state->service = method_.service;
    state->counters = counters_;
    for (ScriptedConnection::Script& script : scripts) {
      const std::string host(1, static_cast<char>('a' + connections_.size()));
      connections_.push_back(std::make_shared<ScriptedConnection>(std::move(script)));
      auto live = std::make_shared<ConnectedInstance>(
          Endpoint::Parse(absl::StrCat(host, ":1")).value(), connections_.back());
      Candidate candidate;
      candidate.instance.endpoint = live->endpoint();
      candidate.live = live.get();
      state->live.push_back(std::move(live));
      state->candidates.push_back(std::move(candidate));
    }
    state->methods.push_back(std::move(policy));
    std::vector<const Candidate*> list;
    for (const Candidate& candidate : state->candidates) list.push_back(&candidate);
    state->routes =
        std::make_unique<RouteTree>(std::vector<std::shared_ptr<Router>>(), *balancer_, list);
    cell_.Store(std::move(state));
  }
  ScriptedService(MethodSettings settings, ScriptedConnection::Script script)
      : ScriptedService(std::move(settings),
                        std::vector<ScriptedConnection::Script>{std::move(script)}) {}

  const Method& method() const { return method_; }
  const SnapshotCell<ServiceState>& cell() const { return cell_; }
  ScriptedConnection& connection(size_t instance = 0) { return *connections_[instance]; }
  const CallCounters& counters() const { return *counters_; }

 private:
  const Method& method_ = InternMethod({.service = "test.Scripted", .name = "Call"});
  const std::shared_ptr<LoadBalancer> balancer_;
  const std::shared_ptr<CacheFilter> cache_ = std::make_shared<CacheFilter>();
  const std::shared_ptr<CallCounters> counters_ = std::make_shared<CallCounters>();
  std::vector<std::shared_ptr<ScriptedConnection>> connections_;
  SnapshotCell<ServiceState> cell_;
};

inline AttemptOutcome Lost() {
  AttemptOutcome outcome;
  outcome.status = absl::UnavailableError("connection broken");
  outcome.source = AttemptOutcome::Source::kNetwork;
  return outcome;
}

inline MethodSettings Retrying(int max_retries, absl::Duration backoff) {
  MethodSettings settings;
  settings.retry.max_retries = max_retries;
  settings.retry.backoff.initial = backoff;
  settings.retry.backoff.max = backoff;
  settings.retry.backoff.jitter = 0;
  return settings;
}

}  // namespace marpc::testing

#endif  // MARPC_TESTS_INVOKER_SCRIPTED_CONNECTION_H_
