#include "marpc/provider/provider.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "marpc/base/instance.h"
#include "marpc/base/local_socket.h"
#include "marpc/config/ranges.h"
#include "marpc/observe/log.h"
#include "marpc/provider/admission.h"
#include "marpc/provider/drain_report.h"
#include "marpc/provider/executor.h"
#include "marpc/provider/grpc/grpc_server.h"
#include "marpc/provider/listen.h"
#include "marpc/provider/registration.h"
#include "marpc/provider/server.h"
#include "marpc/provider/termination_signals.h"
#include "marpc/registry/registry.h"

namespace marpc {
namespace {

Instance DescribeInstance(const Settings& settings, const Endpoint& advertised) {
  const ProviderSettings& provider = settings.provider;
  Instance instance;
  instance.endpoint = advertised;
  instance.app = settings.app;
  instance.zone = provider.zone;
  instance.version = provider.version;
  instance.group = provider.group;
  instance.tags = provider.tags;
  instance.gray = provider.gray;
  instance.weight = provider.weight;
  instance.metadata = provider.metadata;
  return instance;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Provider>> Provider::Create(const Settings& settings,
                                                           std::shared_ptr<Registry> registry) {
  if (absl::Status status = CheckRanges(settings); !status.ok()) return status;
  const bool owns_registry = registry == nullptr;
  if (owns_registry) {
    absl::StatusOr<std::shared_ptr<Registry>> opened = OpenRegistry(settings);
    if (!opened.ok()) return opened.status();
    registry = *std::move(opened);
  }
  absl::StatusOr<std::unique_ptr<Admission>> admission = Admission::Create(settings.provider.limit);
  if (!admission.ok()) return admission.status();
  std::unique_ptr<Provider> provider(new Provider(settings, std::move(registry), owns_registry));
  provider->admission_ = *std::move(admission);
  try {
    provider->executor_ =
        std::make_unique<Executor>(settings.provider.threads, settings.provider.max_queued);
  } catch (const std::system_error& e) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start the ", settings.provider.threads,
                     " threads that provider.threads asks for: ", e.what()));
  }
  provider->server_ = std::make_unique<GrpcServer>(settings, *provider->executor_,
                                                   provider->counters_, *provider->admission_);
  return provider;
}

Provider::Provider(const Settings& settings, std::shared_ptr<Registry> registry, bool owns_registry)
    : settings_(settings), registry_(std::move(registry)), owns_registry_(owns_registry) {}

Provider::~Provider() { Shutdown(); }

absl::Status Provider::AddService(std::shared_ptr<ServiceHandler> handler) {
  if (handler == nullptr) return absl::InvalidArgumentError("AddService: the handler is null");
  return Extend([&](Server& server) { return server.AddHandler(std::move(handler)); });
}

absl::Status Provider::Extend(absl::FunctionRef<absl::Status(Server&)> extension) {
  absl::MutexLock lock(&mutex_);
  if (state_ != State::kNew) {
    return absl::FailedPreconditionError("services are added before the provider starts");
  }
  return extension(*server_);
}

absl::Status Provider::Start() {
  {
    absl::MutexLock lock(&mutex_);
    if (state_ != State::kNew) {
      return absl::FailedPreconditionError("a provider starts once; make another");
    }
    state_ = State::kStarting;
  }
  absl::Status status = Serve();
  if (status.ok()) {
    MoveTo(State::kServing);
    return status;
  }
  MoveTo(State::kStopping);
  // Nobody has been told of the port, so there is nobody to wait for.
  registration_.reset();
  server_->Shutdown(absl::ZeroDuration());
  executor_->Shutdown();
  if (owns_registry_) registry_->Close();
  MoveTo(State::kStopped);
  return status;
}

absl::Status Provider::Serve() {
  absl::StatusOr<Endpoint> endpoint = ListenEndpoint(settings_.provider);
  if (!endpoint.ok()) return endpoint.status();
  absl::Status available = CheckFree(*endpoint);
  if (!available.ok()) return available;
  Endpoint local;
  if (!settings_.provider.local_socket.empty()) {
    absl::StatusOr<Endpoint> parsed = LocalSocketEndpoint(settings_.provider);
    if (!parsed.ok()) return parsed.status();
    local = *std::move(parsed);
    available = CheckFree(local, "provider.localSocket");
    if (!available.ok()) return available;
  }
  endpoint = server_->Start(*endpoint, local);
  if (!endpoint.ok()) return endpoint.status();
  admission_->WarnOfUnusedNames();
  endpoint_ = *std::move(endpoint);
  absl::StatusOr<Endpoint> advertised = AdvertisedEndpoint(settings_.provider, endpoint_);
  if (!advertised.ok()) return advertised.status();
  advertised_ = *std::move(advertised);
  if (!settings_.provider.wait_for_registration) server_->AnnounceServing();
  return Register();
}

absl::Status Provider::Register() {
  const std::vector<std::string> services = server_->services();
  Instance instance = DescribeInstance(settings_, advertised_);
  if (!settings_.provider.local_socket.empty()) {
    absl::StatusOr<std::string> described =
        DescribeLocalSocket(LocalSocketEndpoint(settings_.provider)->host());
    if (!described.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("provider.localSocket: ", described.status().message()));
    }
    instance.metadata[kLocalSocketKey] = *std::move(described);
  }
  absl::StatusOr<std::unique_ptr<Registration>> registration =
      Registration::Open(registry_, services, instance, settings_.registry.connect_timeout,
                         [this] { server_->AnnounceServing(); });
  if (!registration.ok()) return registration.status();
  registration_ = *std::move(registration);
  Logger()->info("event=serving endpoint={} advertised={} services={}", endpoint_.ToString(),
                 advertised_.ToString(), absl::StrJoin(services, ","));
  return absl::OkStatus();
}

void Provider::Shutdown() {
  {
    absl::MutexLock lock(&mutex_);
    const auto settled = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return state_ != State::kStarting && state_ != State::kStopping;
    };
    mutex_.Await(absl::Condition(&settled));
    if (state_ == State::kStopped) return;
    const bool serving = state_ == State::kServing;
    state_ = State::kStopping;
    if (signals_ != nullptr) signals_->Interrupt();
    if (!serving) {
      executor_->Shutdown();
      if (owns_registry_) registry_->Close();
      state_ = State::kStopped;
      return;
    }
  }
  Stop();
  MoveTo(State::kStopped);
}

void Provider::Stop() {
  Logger()->info("event=stopping endpoint={}", endpoint_.ToString());
  server_->AnnounceDraining();
  const absl::Status released = registration_->Release(settings_.registry.connect_timeout);
  if (!released.ok()) {
    Logger()->warn("event=deregister_failed endpoint={} {}; consumers will notice by themselves",
                   endpoint_.ToString(), std::string(released.message()));
  }
  absl::SleepFor(settings_.provider.propagation_delay);
  {
    const DrainReport report(counters_, settings_.provider.drain_timeout);
    server_->Shutdown(settings_.provider.drain_timeout);
  }
  executor_->Shutdown();
  if (owns_registry_) registry_->Close();
  Logger()->info("event=stopped endpoint={}", endpoint_.ToString());
}

absl::Status Provider::Run() {
  absl::StatusOr<std::unique_ptr<TerminationSignals>> signals = TerminationSignals::Install();
  if (!signals.ok()) return signals.status();
  bool started = false;
  bool over = false;
  {
    absl::MutexLock lock(&mutex_);
    signals_ = signals->get();
    started = served_;
    over = started && state_ != State::kServing;
  }
  const absl::Cleanup forget = [this] {
    absl::MutexLock lock(&mutex_);
    signals_ = nullptr;
  };
  if (!started) {
    if (absl::Status status = Start(); !status.ok()) return status;
  }
  // Over: another thread's Shutdown() came first.
  const int signal = over ? 0 : (*signals)->Wait();
  if (signal != 0) Logger()->info("event=signal number={}", signal);
  Shutdown();
  return absl::OkStatus();
}

std::vector<CallGate::LimitState> Provider::limits() const { return admission_->gate().States(); }

void Provider::MoveTo(State state) {
  absl::MutexLock lock(&mutex_);
  state_ = state;
  if (state == State::kServing) served_ = true;
}

}  // namespace marpc
