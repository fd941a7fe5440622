#include "marpc/consumer/consumer.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "marpc/alert/alerts.h"
#include "marpc/base/by_order.h"
#include "marpc/base/error.h"
#include "marpc/consumer/alert_listeners.h"
#include "marpc/consumer/drop_in_channel.h"
#include "marpc/consumer/gray_marks.h"
#include "marpc/consumer/method_lookup.h"
#include "marpc/consumer/service_runtime.h"
#include "marpc/consumer/settings_check.h"
#include "marpc/degradation/degradation.h"
#include "marpc/filter/cache_filter.h"
#include "marpc/filter/mock_filter.h"
#include "marpc/observe/log.h"
#include "marpc/registry/breaker_name.h"
#include "marpc/registry/registry.h"
#include "marpc/router/gray_router.h"
#include "marpc/transport/grpc/grpc_health_probe.h"
#include "marpc/transport/grpc/grpc_transport.h"

namespace marpc {
namespace {

// Cancelled calls end at once; one that does not is held up in a callback of its user's.
constexpr absl::Duration kCallsEnd = absl::Seconds(5);

// How long closing waits for alerts that are still to be sent.
constexpr absl::Duration kLastAlerts = absl::Seconds(1);

// An operator's word goes over what the settings say.
void SayLevelInForce(absl::string_view level, PolicyDescription& description) {
  for (PolicyDescription::Entry& entry : description.service_entries) {
    if (entry.key != "degradation.level" || entry.value == level) continue;
    entry.from = absl::StrCat("switched while running, from ", entry.value, " (", entry.from, ")");
    entry.value = std::string(level);
    entry.origin = {.source = ValueOrigin::Source::kCode};
  }
}

}  // namespace

struct Consumer::Parts {
  std::shared_ptr<ConsumerContext> context;
  bool owns_registry = false;
  absl::Mutex mutex;
  std::map<std::string, std::shared_ptr<ServiceRuntime>, std::less<>> runtimes
      ABSL_GUARDED_BY(mutex);
  bool closed ABSL_GUARDED_BY(mutex) = false;

  // Null when nobody has asked for the service's calls yet.
  std::shared_ptr<ServiceRuntime> Find(absl::string_view service) {
    absl::MutexLock lock(&mutex);
    const auto found = runtimes.find(service);
    return found == runtimes.end() ? nullptr : found->second;
  }
  absl::Status CheckKnown(absl::string_view service) {
    if (Find(service) != nullptr) return absl::OkStatus();
    return CheckService(service, context->settings);
  }
};

absl::StatusOr<std::unique_ptr<Consumer>> Consumer::Create(const Settings& settings,
                                                           ConsumerOptions options) {
  if (absl::Status status = CheckSettings(settings, options); !status.ok()) return status;
  auto parts = std::make_shared<Parts>();
  parts->context = std::make_shared<ConsumerContext>();
  ConsumerContext& context = *parts->context;
  context.registry = options.registry;
  if (context.registry == nullptr) {
    absl::StatusOr<std::shared_ptr<Registry>> registry = OpenRegistry(settings);
    if (!registry.ok()) return registry.status();
    context.registry = *std::move(registry);
    parts->owns_registry = true;
  }
  context.settings = settings;
  auto sinks = MakeAlertSinks(settings.alerts);
  if (!sinks.empty()) {
    context.alerts = std::make_shared<Alerts>(
        settings.alerts.min_interval, AlertSource{settings.app, settings.env}, std::move(sinks));
    TellAlerts(settings.alerts.on, context.alerts, options);
  }
  context.options = std::move(options);
  context.created_at = context.clock.Now();
  context.transport = MakeGrpcTransport(settings.transport);
  context.health_probe = std::make_shared<GrpcHealthProbe>(context.in_flight, context.clock);
  context.mock = std::make_shared<MockFilter>();
  context.cache = std::make_shared<CacheFilter>();
  context.gray = std::make_unique<GrayMarks>([weak = std::weak_ptr<Parts>(parts)] {
    const std::shared_ptr<Parts> parts = weak.lock();
    if (parts == nullptr) return;
    absl::MutexLock lock(&parts->mutex);
    for (const auto& [service, runtime] : parts->runtimes) runtime->OnGrayMarksChanged();
  });
  return std::unique_ptr<Consumer>(new Consumer(std::move(parts)));
}

Consumer::Consumer(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
Consumer::~Consumer() { Close(); }

std::shared_ptr<ServiceRuntime> Consumer::Runtime(absl::string_view service) {
  absl::MutexLock lock(&parts_->mutex);
  std::shared_ptr<ServiceRuntime>& runtime = parts_->runtimes[std::string(service)];
  if (runtime != nullptr) return runtime;
  ConsumerContext& context = *parts_->context;
  const ServiceSettings& settings = context.settings.ForService(service);
  std::vector<std::shared_ptr<Router>> routers;
  // CheckSettings() has seen that neither of these can fail.
  if (settings.gray.enabled) routers.push_back(*GrayRouter::Create(settings.gray));
  for (const auto& make : context.options.routers) routers.push_back(make(service));
  SortByOrder(routers);
  const auto own = context.options.load_balancers.find(settings.load_balancer);
  std::unique_ptr<LoadBalancer> balancer =
      own != context.options.load_balancers.end()
          ? own->second(service)
          : *MakeLoadBalancer(settings.load_balancer, RandomSource::OfThisThread(),
                              settings.load_balance);
  balancer = WithinSubsetAndZones(std::move(balancer), settings.load_balance,
                                  context.settings.provider.zone, RandomSource::OfThisThread());
  runtime = std::make_shared<ServiceRuntime>(parts_->context, std::string(service),
                                             std::move(routers), std::move(balancer));
  if (parts_->closed) {
    runtime->Close();
  } else {
    runtime->Subscribe();
  }
  return runtime;
}

std::shared_ptr<grpc::Channel> Consumer::Channel(absl::string_view service) {
  WaitForService(service).IgnoreError();  // the calls say what is missing
  return MakeDropInChannel(Runtime(service));
}

absl::Status Consumer::WaitForService(absl::string_view service) {
  const std::shared_ptr<ServiceRuntime> runtime = Runtime(service);
  const absl::Status policies = runtime->PreparePolicies();
  const absl::Status list = runtime->WaitForList();
  return policies.ok() ? list : policies;
}

GrayMarks& Consumer::gray() { return *parts_->context->gray; }
MockFilter& Consumer::mock() { return *parts_->context->mock; }
CacheFilter& Consumer::cache() { return *parts_->context->cache; }
Registry& Consumer::registry() { return *parts_->context->registry; }

absl::StatusOr<PolicyDescription> Consumer::Describe(absl::string_view method) {
  const ConsumerContext& context = *parts_->context;
  const absl::StatusOr<Method> found = LookUpMethod(method, context.settings);
  if (!found.ok()) return found.status();
  const EffectivePolicy policy =
      EffectivePolicyOf(*found, context.settings, context.options.policies);
  PolicyDescription description = DescribePolicy(*found, policy.settings, context.settings);
  SayLevelInForce(DegradationLevelName(context.degradation.Of(found->service)), description);
  description.status = CheckPolicy(*found, policy, context.options);
  return description;
}

std::optional<CircuitBreaker::Snapshot> Consumer::Breaker(absl::string_view method) {
  const Method* known = FindMethod(absl::StrCat("/", method));
  const auto runtime = known == nullptr ? nullptr : parts_->Find(known->service);
  return runtime == nullptr ? std::nullopt : runtime->Breaker(*known);
}

std::vector<Consumer::BreakerView> Consumer::Breakers(absl::string_view service) {
  std::vector<BreakerView> views;
  const auto runtime = parts_->Find(service);
  if (runtime == nullptr) return views;
  const MonotonicTime now = parts_->context->clock.Now();
  for (const auto& [name, breaker] : runtime->Breakers()) {
    breaker->CatchUp(now);
    views.push_back({name, breaker->GetSnapshot(now), breaker->Events()});
  }
  return views;
}

absl::Status Consumer::ForceBreaker(absl::string_view name, BreakerState state) {
  const auto runtime = parts_->Find(name.substr(0, name.find_first_of("/@")));
  if (runtime != nullptr) {
    for (const auto& [known, breaker] : runtime->Breakers()) {
      if (known != name) continue;
      breaker->Force(state, parts_->context->clock.Now());
      return absl::OkStatus();
    }
  }
  return absl::NotFoundError(absl::StrCat("there is no circuit breaker '", name, "'"));
}

void Consumer::SetDegradation(DegradationLevel level) { parts_->context->degradation.Set(level); }

absl::Status Consumer::SetDegradation(absl::string_view service, DegradationLevel level) {
  if (absl::Status known = parts_->CheckKnown(service); !known.ok()) return known;
  parts_->context->degradation.Set(service, level);
  return absl::OkStatus();
}

DegradationLevel Consumer::Degradation(absl::string_view service) {
  return parts_->context->degradation.Of(service);
}

absl::Status Consumer::ForceBreakerEverywhere(absl::string_view name, BreakerState state) {
  const absl::string_view service = ServiceOfBreaker(name);
  const absl::StatusOr<std::string> right = ParseBreakerName(name);
  if (state == BreakerState::kClosed) {
    // Also of a name that was never right.
    absl::Status status =
        registry().SetDirective(service, absl::StrCat(kBreakerDirective, name), "");
    if (!status.ok() || !right.ok() || *right == name) return status;
    return registry().SetDirective(service, absl::StrCat(kBreakerDirective, *right), "");
  }
  if (absl::Status known = parts_->CheckKnown(service); !known.ok()) return known;
  const size_t at = name.find('@');
  if (const absl::string_view method = name.substr(0, at); method != service) {
    const auto known = LookUpMethod(method, parts_->context->settings);
    if (!known.ok()) return known.status();
  }
  if (!right.ok()) return right.status();
  const std::string key = absl::StrCat(kBreakerDirective, *right);
  const absl::string_view word = BreakerStateName(state);
  if (absl::Status bad = CheckUnderstood(service, key, word); !bad.ok()) return bad;
  return registry().SetDirective(service, key, word);
}

absl::Status Consumer::SetDegradationEverywhere(absl::string_view service, DegradationLevel level) {
  if (absl::Status known = parts_->CheckKnown(service); !known.ok()) return known;
  return registry().SetDirective(service, kLevelDirective, DegradationLevelName(level));
}

std::optional<OutlierSnapshot> Consumer::Outliers(absl::string_view service) {
  const auto runtime = parts_->Find(service);
  return runtime == nullptr ? std::nullopt : runtime->Outliers();
}

std::optional<HealthSnapshot> Consumer::Health(absl::string_view service) {
  const auto runtime = parts_->Find(service);
  return runtime == nullptr ? std::nullopt : runtime->Health();
}

const CallCounters& Consumer::Counters(absl::string_view service) {
  static const CallCounters& none = *new CallCounters;
  const auto runtime = parts_->Find(service);
  return runtime == nullptr ? none : runtime->counters();
}

void Consumer::Close() {
  // A callback of a call that this ends may destroy the consumer.
  const std::shared_ptr<Parts> parts = parts_;
  std::map<std::string, std::shared_ptr<ServiceRuntime>, std::less<>> runtimes;
  {
    absl::MutexLock lock(&parts->mutex);
    if (std::exchange(parts->closed, true)) return;
    runtimes = parts->runtimes;
  }
  ConsumerContext& context = *parts->context;
  // On the timers' thread, those that are waited for below would wait for it in turn.
  context.timers.HandOver();
  if (!context.in_flight->Close(kCallsEnd)) {
    Logger()->warn(
        "event=closed_too_soon what=\"calls or health checks that were cancelled have "
        "not ended: is a callback still running?\"");
  }
  for (const auto& [service, runtime] : runtimes) runtime->Close();
  context.timers.Stop();
  if (context.alerts != nullptr) context.alerts->Close(kLastAlerts);
  if (parts->owns_registry) context.registry->Close();
}

}  // namespace marpc
