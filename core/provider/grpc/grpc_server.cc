#include "marpc/provider/grpc/grpc_server.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/impl/server_builder_option.h"
#include "grpcpp/impl/server_initializer.h"
#include "grpcpp/security/server_credentials.h"
#include "marpc/provider/grpc/handler_service.h"
#include "marpc/provider/grpc/stock_interceptor.h"
#include "marpc/provider/listen.h"

namespace marpc {
namespace {

// Health and reflection, which are no services of the application.
constexpr absl::string_view kGrpcOwnPrefix = "grpc.";

// Writes down which services a server has, stock ones included, whose names nothing else tells.
class ServiceLister final : public grpc::ServerBuilderPlugin {
 public:
  explicit ServiceLister(std::vector<std::string>& names) : names_(names) {}
  std::string name() override { return "marpc_service_lister"; }
  void InitServer(grpc::ServerInitializer*) override {}
  void Finish(grpc::ServerInitializer* server) override {
    names_.clear();
    for (const std::string& name : *server->GetServiceList()) {
      if (!absl::StartsWith(name, kGrpcOwnPrefix)) names_.push_back(name);
    }
  }
  void ChangeArguments(const std::string&, void*) override {}

 private:
  std::vector<std::string>& names_;
};

// For one server what gRPC's own function would do for all servers of the process.
class Plugins final : public grpc::ServerBuilderOption {
 public:
  Plugins(bool reflection, std::vector<std::string>& names)
      : reflection_(reflection), names_(names) {}
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    plugins->push_back(std::make_unique<ServiceLister>(names_));
    if (!reflection_) return;
    auto reflection = std::make_unique<grpc::reflection::ProtoServerReflectionPlugin>();
    // The application may have switched it on for the whole process; twice would clash.
    const bool there = std::any_of(plugins->begin(), plugins->end(), [&](const auto& plugin) {
      return plugin->name() == reflection->name();
    });
    if (!there) plugins->push_back(std::move(reflection));
  }

 private:
  const bool reflection_;
  std::vector<std::string>& names_;
};

// gRPC makes its health service only on a process-wide switch, which is put back so that no other
// server of the application changes by it.
std::unique_ptr<grpc::Server> BuildWithHealth(grpc::ServerBuilder& builder) {
  static absl::Mutex& mutex = *new absl::Mutex;
  absl::MutexLock lock(&mutex);
  const bool before = grpc::DefaultHealthCheckServiceEnabled();
  grpc::EnableDefaultHealthCheckService(true);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  grpc::EnableDefaultHealthCheckService(before);
  return server;
}

int ToInt(int64_t value) {
  return static_cast<int>(std::clamp<int64_t>(value, 0, std::numeric_limits<int>::max()));
}

}  // namespace

GrpcServer::GrpcServer(const Settings& settings, Executor& executor, MethodCounters& counters,
                       Admission& admission)
    : settings_(settings.provider),
      max_reply_size_(settings.transport.max_send_message_size),
      executor_(executor),
      counters_(counters),
      admission_(admission) {}

GrpcServer::~GrpcServer() { Shutdown(absl::ZeroDuration()); }

absl::Status GrpcServer::AddHandler(std::shared_ptr<ServiceHandler> handler) {
  const absl::string_view service = handler->service();
  for (const auto& other : handlers_) {
    if (other->service() == service) {
      return absl::AlreadyExistsError(absl::StrCat("service ", service, " was added already"));
    }
  }
  for (const ServiceHandler::MethodEntry& entry : handler->methods()) {
    if (entry.invoke != nullptr &&
        (entry.method->request_prototype == nullptr || entry.method->reply_prototype == nullptr)) {
      return absl::InvalidArgumentError(absl::StrCat(
          entry.method->full_name, ": its message types are not linked into this process"));
    }
  }
  handlers_.push_back(std::move(handler));
  return absl::OkStatus();
}

absl::Status GrpcServer::AddStockService(std::shared_ptr<grpc::Service> service) {
  if (service->has_async_methods() || service->has_generic_methods()) {
    return absl::InvalidArgumentError(
        "a service with completion-queue or generic methods needs a server of its own; use the "
        "synchronous or the callback form");
  }
  stock_services_.push_back(std::move(service));
  return absl::OkStatus();
}

absl::StatusOr<Endpoint> GrpcServer::Start(const Endpoint& endpoint, const Endpoint& local) {
  grpc::ServerBuilder builder;
  Configure(builder);
  AddServices(builder);
  constexpr int kNotTried = -1;
  int port = kNotTried;
  builder.AddListeningPort(endpoint.ToString(), grpc::InsecureServerCredentials(), &port);
  if (local.is_unix()) {
    builder.AddListeningPort(local.ToString(), grpc::InsecureServerCredentials());
  }
  server_ = BuildWithHealth(builder);
  if (server_ == nullptr) {
    if (port == kNotTried) {
      return absl::AlreadyExistsError("two services that were added bring the same method");
    }
    return absl::UnavailableError(absl::StrCat("cannot listen on ", endpoint.ToString(),
                                               local.is_unix() ? " and " : "", local.ToString(),
                                               "; gRPC's own log on stderr says why"));
  }
  grpc::HealthCheckServiceInterface& health = *server_->GetHealthCheckService();
  health.SetServingStatus("", false);
  for (const std::string& name : service_names_) health.SetServingStatus(name, false);
  if (endpoint.is_unix()) return endpoint;
  return Endpoint::Parse(HostPort(endpoint.host(), port));
}

void GrpcServer::Configure(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(ToInt(settings_.max_receive_message_size));
  builder.SetMaxSendMessageSize(ToInt(max_reply_size_));
  // With it, two processes could listen on one port without knowing of each other.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             ToInt(absl::ToInt64Milliseconds(settings_.keepalive_min_interval)));
  builder.SetOption(std::make_unique<Plugins>(settings_.reflection, service_names_));
}

void GrpcServer::AddServices(grpc::ServerBuilder& builder) {
  absl::flat_hash_set<std::string> of_handlers;
  for (const auto& handler : handlers_) {
    of_handlers.insert(std::string(handler->service()));
    handler_services_.push_back(std::make_unique<HandlerService>(
        handler, HandlerService::Shared{executor_, counters_, admission_, max_reply_size_}));
    builder.RegisterService(handler_services_.back().get());
  }
  for (const auto& service : stock_services_) builder.RegisterService(service.get());
  if (stock_services_.empty()) return;  // an interceptor costs every call something
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(
      std::make_unique<StockInterceptorFactory>(std::move(of_handlers), counters_));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
}

void GrpcServer::AnnounceServing() { server_->GetHealthCheckService()->SetServingStatus(true); }

void GrpcServer::AnnounceDraining() { server_->GetHealthCheckService()->Shutdown(); }

void GrpcServer::Shutdown(absl::Duration drain_timeout) {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoNanoseconds(drain_timeout));
  server_->Wait();
  server_.reset();
}

}  // namespace marpc
