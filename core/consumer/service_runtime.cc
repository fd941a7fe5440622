#include "marpc/consumer/service_runtime.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "marpc/base/chained_cancel.h"
#include "marpc/base/error.h"
#include "marpc/base/local_socket.h"
#include "marpc/consumer/ejection_messages.h"
#include "marpc/consumer/gray_marks.h"
#include "marpc/consumer/health_messages.h"
#include "marpc/consumer/list_messages.h"
#include "marpc/health/bounded_probe.h"
#include "marpc/invoker/blocking_call.h"
#include "marpc/invoker/hedged_call.h"
#include "marpc/observe/log.h"
#include "marpc/transport/local_first.h"

namespace marpc {
namespace {

// Health checks of a service at a time, and as many probes of its breakers: a few that hang hold up
// neither the other kind nor other services. More would make little waves of their own in a fleet
// of thousands of instances.
constexpr int kChecksAtOnce = 32;

// How long a connection to an instance that left is kept for calls that picked it just before.
constexpr absl::Duration kRetireAfter = absl::Seconds(5);

absl::Status Closed() {
  return FrameworkError(absl::StatusCode::kUnavailable, reason::kClosed, "the consumer is closed");
}

// The caller's entries over those of the thread. Together they may be more than can travel.
absl::StatusOr<RpcContext> Merged(const RpcContext& own) {
  RpcContext context = RpcContext::Current();
  for (const auto& [key, value] : own.entries()) {
    if (absl::Status status = context.Set(key, value); !status.ok()) {
      return FrameworkError(status.code(), reason::kMessageTooLarge, status.message());
    }
  }
  return context;
}

std::shared_ptr<SlowStart> MakeSlowStart(const SlowStartSettings& settings) {
  if (settings.window <= absl::ZeroDuration()) return nullptr;
  return std::make_shared<SlowStart>(settings);
}

// Called without a lock, by calls.
std::function<void(LiveInstance&, MonotonicTime)> BeginOf(std::shared_ptr<SlowStart> slow_start) {
  if (slow_start == nullptr) return nullptr;
  return [slow_start = std::move(slow_start)](LiveInstance& instance, MonotonicTime now) {
    slow_start->OnBack(instance, now);
  };
}

std::unique_ptr<OutlierDetector> MakeOutliers(const ConsumerContext& context,
                                              const std::string& service,
                                              std::shared_ptr<SlowStart> slow_start) {
  const OutlierSettings& settings = context.settings.ForService(service).outlier;
  if (!settings.enabled) return nullptr;
  return std::make_unique<OutlierDetector>(
      settings, context.clock.Now(),
      OutlierListeners{TellOf(service, context.options.on_ejection),
                       BeginOf(std::move(slow_start))});
}

// With a queue of its own for what is to be asked.
HealthEnvironment EnvironmentOf(std::shared_ptr<ConsumerContext> context) {
  HealthEnvironment environment;
  environment.clock = &context->clock;
  environment.probe = std::make_shared<BoundedProbe>(context->health_probe, kChecksAtOnce);
  environment.run_at = [context = std::move(context)](MonotonicTime when,
                                                      absl::AnyInvocable<void()> run) {
    context->timers.At(when, std::move(run));
  };
  return environment;
}

std::shared_ptr<HealthChecker> MakeHealth(const std::shared_ptr<ConsumerContext>& context,
                                          const std::string& service,
                                          std::shared_ptr<SlowStart> slow_start) {
  const HealthCheckSettings& settings = context->settings.ForService(service).health_check;
  if (!settings.enabled) return nullptr;
  HealthListeners listeners = TellOfHealth(service, context->options.on_health_change);
  listeners.on_back = BeginOf(std::move(slow_start));
  return std::make_shared<HealthChecker>(settings, service, EnvironmentOf(context),
                                         std::move(listeners));
}

std::shared_ptr<BreakerProbes> MakeBreakerProbes(const std::shared_ptr<ConsumerContext>& context,
                                                 const std::string& service) {
  const HealthCheckSettings& settings = context->settings.ForService(service).health_check;
  return std::make_shared<BreakerProbes>(
      HealthProbe::Question{settings.service.value_or(service), settings.timeout},
      EnvironmentOf(context), TellOfProbes(service));
}

ServiceBreakers::ActiveProbes ActiveProbesOf(const ConsumerContext& context,
                                             const std::string& service,
                                             std::shared_ptr<BreakerProbes> probes) {
  ServiceBreakers::ActiveProbes active;
  active.at = [probes = std::move(probes)](const std::shared_ptr<LiveInstance>& instance,
                                           const std::shared_ptr<CircuitBreaker>& breaker,
                                           MonotonicTime when) {
    probes->ProbeAt(instance, breaker, when);
  };
  active.timeout = context.settings.ForService(service).health_check.timeout;
  return active;
}

std::shared_ptr<BreakerSharing> MakeSharing(const std::shared_ptr<ConsumerContext>& context,
                                            const std::string& service) {
  if (!context->settings.ForService(service).shared_breakers.enabled) return nullptr;
  return std::make_shared<BreakerSharing>(context, service);
}

ServiceBreakers::Listener ListenerOf(std::shared_ptr<BreakerSharing> sharing) {
  if (sharing == nullptr) return nullptr;
  return [sharing = std::move(sharing)](absl::string_view name, const BreakerTransition& change) {
    sharing->OnTransition(name, change);
  };
}

}  // namespace

ServiceRuntime::ServiceRuntime(std::shared_ptr<ConsumerContext> context, std::string service,
                               std::vector<std::shared_ptr<Router>> routers,
                               std::unique_ptr<LoadBalancer> balancer)
    : context_(std::move(context)),
      service_(std::move(service)),
      // A registry of the program's own need not be what the settings say.
      registry_(context_->options.registry == nullptr ? RegistryInWords(context_->settings) : ""),
      slow_start_(MakeSlowStart(context_->settings.ForService(service_).slow_start)),
      outliers_(MakeOutliers(*context_, service_, slow_start_)),
      degradation_(context_->degradation.SwitchOf(service_)),
      health_(MakeHealth(context_, service_, slow_start_)),
      breaker_probes_(MakeBreakerProbes(context_, service_)),
      sharing_(MakeSharing(context_, service_)),
      directives_(service_, context_->degradation,
                  context_->settings.ForService(service_).degradation_level),
      cell_(nullptr),
      routers_(std::move(routers)),
      balancer_(std::move(balancer)),
      maker_(context_, service_,
             {BeginOf(slow_start_), ActiveProbesOf(*context_, service_, breaker_probes_),
              ListenerOf(sharing_)}),
      unusable_(ListNotReady(service_, context_->registry->state())) {
  absl::MutexLock lock(&mutex_);
  Publish();
}

ServiceRuntime::~ServiceRuntime() { Close(); }

void ServiceRuntime::Subscribe() {
  auto subscription = context_->registry->Subscribe(
      service_, [weak = weak_from_this()](std::shared_ptr<const ServiceSnapshot> list) {
        if (const auto self = weak.lock()) self->OnList(std::move(list));
      });
  if (subscription.ok()) {
    subscription_ = *std::move(subscription);
    if (sharing_ == nullptr) return;
    return sharing_->Start([weak = weak_from_this()] {
      const auto self = weak.lock();
      return self == nullptr ? std::vector<ServiceBreakers::Named>() : self->Breakers();
    });
  }
  absl::Status status = subscription.status();
  ErrorInfo info;
  info.set_origin(ErrorInfo::FRAMEWORK);
  info.set_reason(std::string(reason::kNoAvailableInstance));
  SetErrorInfo(status, info);
  absl::MutexLock lock(&mutex_);
  unusable_ = std::move(status);
  Publish();
}

absl::Status ServiceRuntime::WaitForList() {
  const absl::Duration timeout = context_->settings.registry.connect_timeout;
  const bool connected =
      context_->registry->state().connection == RegistryState::Connection::kConnected;
  const MonotonicTime now = context_->clock.Now();
  const MonotonicTime until = (connected ? now : context_->created_at) + timeout;
  list_known_.WaitFor(until - now);
  absl::MutexLock lock(&mutex_);
  if (closed_) return Closed();
  if (list_ != nullptr) return absl::OkStatus();
  unusable_ = ListNotReady(service_, context_->registry->state());
  Publish();
  return unusable_;
}

void ServiceRuntime::OnList(std::shared_ptr<const ServiceSnapshot> list) {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
  }
  ServiceBreakers::States begin_in = directives_.Take(list->directives);
  {
    absl::MutexLock lock(&mutex_);
    maker_.breakers().BeginIn(std::move(begin_in));
  }
  // Before a call can be let in by the list. Without the lock, as below.
  if (directives_.changes_breakers()) directives_.Obey(Breakers(), context_->clock.Now());
  std::vector<std::shared_ptr<CircuitBreaker>> of_new_lives;
  std::shared_ptr<const ServiceSnapshot> before;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    of_new_lives = UpdateInstances(*list);
    before = std::exchange(list_, list);
    list_known_.Wake();
    unusable_ = absl::OkStatus();
    Publish();
  }
  LogListChange(before.get(), *list);
  directives_.WarnOfUnmatched([this] { return Breakers(); });
  if (sharing_ != nullptr) sharing_->ForgetGone([this] { return Breakers(); });
  // Without the lock: the program's listeners are told, and may ask for what it guards.
  for (const auto& breaker : of_new_lives) breaker->OnNewPeer(context_->clock.Now());
  if (outliers_ != nullptr) outliers_->Announce();
  if (health_ != nullptr) health_->Announce();
}

std::vector<std::shared_ptr<CircuitBreaker>> ServiceRuntime::UpdateInstances(
    const ServiceSnapshot& list) {
  std::vector<std::shared_ptr<CircuitBreaker>> breakers;
  std::vector<LiveInstance*> new_lives;
  std::map<Endpoint, std::shared_ptr<ConnectedInstance>> live;
  std::map<Endpoint, Life> lives;
  for (const Instance& instance : list.instances) {
    Life life = LifeOf(instance);
    const auto known = live_.find(instance.endpoint);
    const bool is_known =
        known != live_.end() && lives_[instance.endpoint].local_socket == life.local_socket;
    std::shared_ptr<ConnectedInstance> one = is_known ? known->second : Connect(instance);
    if (is_known && lives_[instance.endpoint].owner != instance.owner) {
      if (one->OnReachable()) counters_->unreachable_instances.fetch_sub(1);
      // What was learned of the former one no longer holds.
      for (auto& breaker : maker_.breakers().Of(one.get())) breakers.push_back(std::move(breaker));
      new_lives.push_back(one.get());
      one->connection().ResetBackoff();
    }
    lives[instance.endpoint] = std::move(life);
    live.emplace(instance.endpoint, std::move(one));
  }
  for (const auto& [endpoint, one] : live_) {
    const auto same = live.find(endpoint);
    if (same != live.end() && same->second == one) continue;
    if (one->Retire()) counters_->unreachable_instances.fetch_sub(1);
    RetireLater(one->shared_connection());
  }
  live_ = std::move(live);
  lives_ = std::move(lives);
  if (new_lives.empty()) return breakers;
  const MonotonicTime now = context_->clock.Now();
  if (slow_start_ != nullptr) slow_start_->OnBack(new_lives, now);
  if (outliers_ != nullptr) outliers_->OnNewLives(new_lives, now);
  if (health_ != nullptr) health_->OnNewLives(new_lives);
  return breakers;
}

ServiceRuntime::Life ServiceRuntime::LifeOf(const Instance& instance) const {
  Life life{.owner = instance.owner, .local_socket = ""};
  if (!context_->settings.transport.local_socket) return life;
  const auto socket = instance.metadata.find(kLocalSocketKey);
  if (socket != instance.metadata.end()) life.local_socket = socket->second;
  return life;
}

std::shared_ptr<ConnectedInstance> ServiceRuntime::Connect(const Instance& instance) const {
  const TransportSettings& settings = context_->settings.transport;
  Transport& transport = *context_->transport;
  std::shared_ptr<Connection> connection =
      settings.local_socket ? ConnectByShortestWay(transport, instance, context_->clock)
                            : transport.Connect(instance.endpoint);
  if (settings.warm_up) connection->WarmUp();
  return std::make_shared<ConnectedInstance>(instance.endpoint, std::move(connection));
}

void ServiceRuntime::RetireLater(std::shared_ptr<Connection> connection) {
  context_->timers.At(context_->clock.Now() + kRetireAfter,
                      [connection = std::move(connection)] { connection->Retire(); });
}

void ServiceRuntime::Publish() {
  auto state = std::make_shared<ServiceState>();
  state->service = service_;
  state->registry = registry_;
  state->counters = counters_;
  state->degradation = degradation_;
  state->methods = policies_;
  state->unusable = unusable_;
  state->closed = closed_;
  // Mocks, caches and fallbacks answer without a list, too.
  if (unusable_.ok()) AddInstances(*state);
  cell_.Store(std::move(state));
}

void ServiceRuntime::AddInstances(ServiceState& state) {
  const std::set<Endpoint> marked = context_->gray->Marked();
  state.confirmed_at = list_->confirmed_at;
  state.source = list_->source;
  state.candidates.reserve(list_->instances.size());
  for (const Instance& instance : list_->instances) {
    const int weight = weights_.Check(instance);
    if (weight == 0) continue;  // drained
    const std::shared_ptr<ConnectedInstance>& live = live_.at(instance.endpoint);
    state.live.push_back(live);
    state.candidates.push_back({instance,
                                instance.gray || list_->gray_marks.contains(instance.endpoint) ||
                                    marked.contains(instance.endpoint),
                                live.get()});
    state.candidates.back().instance.weight = weight;
  }
  state.instance_breakers = maker_.breakers().ForInstances(state.live);
  const MonotonicTime now = context_->clock.Now();
  if (outliers_ != nullptr) state.ejections = outliers_->ForInstances(state.live, now);
  if (health_ != nullptr) state.health = health_->ForInstances(state.live);
  if (slow_start_ != nullptr) slow_start_->OnList(state.live, now);
  state.slow_start = slow_start_;
  RouteTable::Pool all;
  all.reserve(state.candidates.size());
  for (const Candidate& candidate : state.candidates) all.push_back(&candidate);
  state.routes =
      std::make_unique<RouteTree>(routers_, *balancer_, all, list_->instances.size() - all.size());
}

void ServiceRuntime::OnGrayMarksChanged() {
  absl::MutexLock lock(&mutex_);
  Publish();
}

absl::Status ServiceRuntime::PreparePolicies() {
  InternMethodsOf(service_);
  PublishMethods();
  for (const auto& policy : cell_.Load()->methods) {
    if (!policy->invalid.ok()) return policy->invalid;
  }
  return absl::OkStatus();
}

void ServiceRuntime::PublishMethods() {
  MethodPolicies::Messages messages;
  {
    absl::MutexLock lock(&mutex_);
    const std::vector<const Method*> methods = InternedMethods(service_);
    if (methods.size() <= policies_.size()) return;
    for (size_t i = policies_.size(); i < methods.size(); ++i) {
      policies_.push_back(maker_.Make(*methods[i], messages));
    }
    Publish();
  }
  for (const auto& [level, text] : messages) Logger()->log(level, "{}", text);
}

absl::Status ServiceRuntime::Call(const Method& method,
                                  const google::protobuf::MessageLite& request,
                                  google::protobuf::MessageLite* reply,
                                  const CallOptions& options) {
  const std::shared_ptr<const MethodPolicy> policy = PolicyOf(method);
  if (!policy->invalid.ok()) return policy->invalid;
  // In a callback, a hedged call could wait for the thread it is on: it is made without hedges.
  if (policy->hedging != nullptr && context_->transport->MayAwaitStarted()) {
    return CallHedged(method, request, reply, options);
  }
  const RpcContext* context = &RpcContext::Current();
  std::optional<RpcContext> own;
  if (!options.context.empty()) {
    absl::StatusOr<RpcContext> merged = Merged(options.context);
    if (!merged.ok()) return merged.status();
    context = &own.emplace(*std::move(merged));
  }
  Metadata metadata;
  EncodeContext(*context, metadata);

  // The call's own: closing the consumer cancels its calls, not what the caller may use again.
  ChainedCancelSignal cancel(options.cancel);
  InFlightCalls::Entry entry(&cancel);
  if (!context_->in_flight->Enter(entry)) return Closed();
  const absl::Cleanup leave = [&] { context_->in_flight->Leave(entry); };
  CallInput input;
  input.method = &method;
  input.request = &request;
  input.reply = reply;
  input.context = context;
  input.metadata = &metadata;
  input.deadline = options.DeadlineFrom(context_->clock.Now());
  input.cancel = &cancel;
  input.report = options.report;
  CallSession session(cell_, input);
  return RunBlocking(session, input, metadata, cancel, context_->clock, context_->timers);
}

// Several attempts at once need the asynchronous driver; the thread waits for it.
absl::Status ServiceRuntime::CallHedged(const Method& method,
                                        const google::protobuf::MessageLite& request,
                                        google::protobuf::MessageLite* reply,
                                        const CallOptions& options) {
  absl::Status result;
  absl::Notification ended;
  AsyncRequest call;
  call.method = &method;
  call.request = &request;
  call.reply = reply;
  call.deadline = options.DeadlineFrom(context_->clock.Now());
  call.context = options.context;
  if (options.cancel != nullptr)
    call.cancel = std::make_shared<ChainedCancelSignal>(options.cancel);
  call.report = options.report;
  call.done = [&](absl::Status status) {
    result = std::move(status);
    ended.Notify();
  };
  StartAsync(std::move(call));
  // On the timers' thread this would wait for what other timers do.
  context_->timers.HandOver();
  ended.WaitForNotification();
  return result;
}

std::shared_ptr<const MethodPolicy> ServiceRuntime::PolicyOf(const Method& method) {
  const size_t ordinal = method.ordinal;
  std::shared_ptr<const ServiceState> state = cell_.Load();
  if (ordinal >= state->methods.size()) {
    PublishMethods();
    state = cell_.Load();
  }
  const MethodPolicy* policy = state->methods[ordinal].get();
  return {std::move(state), policy};
}

void ServiceRuntime::StartAsync(AsyncRequest request) {
  const std::shared_ptr<const MethodPolicy> policy = PolicyOf(*request.method);
  if (!policy->invalid.ok()) return request.done(policy->invalid);
  const bool hedged = policy->hedging != nullptr;
  if (absl::Status status = context_->timers.Start(); !status.ok()) {
    return request.done(FrameworkError(status.code(), reason::kInternal, status.message()));
  }
  absl::StatusOr<RpcContext> context = Merged(request.context);
  if (!context.ok()) return request.done(context.status());
  AsyncCall::Parcel parcel;
  parcel.context = *std::move(context);
  parcel.metadata = std::move(request.metadata);
  EncodeContext(parcel.context, parcel.metadata);
  parcel.cancel =
      request.cancel == nullptr ? std::make_shared<CancelSignal>() : std::move(request.cancel);
  parcel.keeper = shared_from_this();
  parcel.done = std::move(request.done);
  CallInput input;
  input.method = request.method;
  input.request = request.request;
  input.reply = request.reply;
  input.deadline = request.deadline;
  input.report = request.report;
  input.answer = request.answer;
  const CallEnvironment environment = {cell_, context_->clock, context_->timers,
                                       *context_->in_flight};
  if (hedged) return HedgedCall::Start(environment, input, std::move(parcel));
  AsyncCall::Start(environment, input, std::move(parcel));
}

std::optional<CircuitBreaker::Snapshot> ServiceRuntime::Breaker(const Method& method) {
  absl::MutexLock lock(&mutex_);
  if (static_cast<size_t>(method.ordinal) >= policies_.size()) return std::nullopt;
  const auto& breakers = policies_[method.ordinal]->breakers.shared;
  if (breakers.empty()) return std::nullopt;
  return breakers.back().breaker->GetSnapshot(context_->clock.Now());
}

std::vector<ServiceBreakers::Named> ServiceRuntime::Breakers() {
  absl::MutexLock lock(&mutex_);
  return maker_.breakers().All();
}

std::optional<OutlierSnapshot> ServiceRuntime::Outliers() {
  if (outliers_ == nullptr) return std::nullopt;
  return outliers_->GetSnapshot(context_->clock.Now(), RandomSource::OfThisThread());
}

std::optional<HealthSnapshot> ServiceRuntime::Health() const {
  if (health_ == nullptr) return std::nullopt;
  return health_->GetSnapshot();
}

void ServiceRuntime::Close() {
  subscription_.reset();
  if (sharing_ != nullptr) sharing_->Close();
  std::map<Endpoint, std::shared_ptr<ConnectedInstance>> live;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    list_known_.Wake();
    live.swap(live_);
    unusable_ = Closed();
    Publish();
  }
  for (const auto& [endpoint, instance] : live) instance->connection().Retire();
}

}  // namespace marpc
