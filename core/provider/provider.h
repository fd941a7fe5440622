// A process that serves: opens the port, answers health checks, registers, and on its way out does
// the reverse.
//
//   absl::StatusOr<marpc::Settings> settings = marpc::LoadSettings("config/provider.yaml");
//   absl::StatusOr<std::unique_ptr<marpc::Provider>> provider = marpc::Provider::Create(*settings);
//   if (!provider.ok()) { std::cerr << provider.status().message() << "\n"; return 1; }
//   absl::Status status = (*provider)->AddService(std::make_shared<HelloServiceImpl>());
//   if (status.ok()) status = (*provider)->Run();             // until SIGTERM or SIGINT
//   if (!status.ok()) { std::cerr << status.message() << "\n"; return 1; }
//
// Services written for plain gRPC are added by marpc/provider/grpc/stock_service.h.
#ifndef MARPC_PROVIDER_PROVIDER_H_
#define MARPC_PROVIDER_PROVIDER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/endpoint.h"
#include "marpc/config/settings.h"
#include "marpc/limit/call_gate.h"
#include "marpc/provider/method_counters.h"
#include "marpc/provider/service_handler.h"

namespace marpc {

class Admission;
class Executor;
class Registration;
class Registry;
class Server;
class TerminationSignals;

// Thread-safe. Starts once; to serve again, make another.
class Provider {
 public:
  // Settings in force: `provider`, `registry`, and the message sizes of `transport`. Opens the
  // registry that they name and closes it in the end; a `registry` that is given is used instead
  // and left open. Does not wait for the registry to be reachable.
  static absl::StatusOr<std::unique_ptr<Provider>> Create(
      const Settings& settings, std::shared_ptr<Registry> registry = nullptr);
  // As Shutdown().
  ~Provider();
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  // Before Start(). AlreadyExists for a second handler of one service. Methods that the .proto
  // calls quick run on the thread that read the request, the others on `provider.threads` threads.
  absl::Status AddService(std::shared_ptr<ServiceHandler> handler);

  // Opens the port (0: any free one), lets health say SERVING and registers every service. Returns
  // without waiting for the registry; entries get there as soon as it is reachable, and where
  // `provider.waitForRegistration` is set, health says NOT_SERVING until then. When the endpoint is
  // taken or cannot be listened on, the error names it and says what to do. After an error the
  // provider is of no further use.
  absl::Status Start();

  // Where it listens, with the real port. After Start().
  const Endpoint& endpoint() const { return endpoint_; }
  // What consumers are told.
  const Endpoint& advertised() const { return advertised_; }

  // Health says NOT_SERVING, the entries are taken from the registry, calls are still taken for
  // `provider.propagationDelay`, then no more (clients are told by GOAWAY); running calls may end
  // within `provider.drainTimeout` and are cancelled after it. A handler that does not heed
  // ServerCall::cancelled() is waited for even then, and the log names its method. Idempotent; not
  // to be called from a handler.
  void Shutdown();

  // Start() where that was not done before, then waits for SIGTERM, SIGINT or another thread's
  // Shutdown(), then Shutdown(). A second signal ends the process at once, with 128 + its number.
  // The signal handlers are those of marpc only while this runs; one provider of a process at a
  // time.
  absl::Status Run();

  // The calls of `method`, like demo.HelloService/Hello, so far.
  MethodCalls calls(absl::string_view method) const { return counters_.Read(method); }
  std::map<std::string, MethodCalls> calls() const { return counters_.ReadAll(); }

  // Its limits of calls under way (`provider.limit.maxConcurrent`), in the order of their names.
  // They hold for methods of handlers; stock services are not limited.
  std::vector<CallGate::LimitState> limits() const;

  // For what a transport offers beside (see stock_service.h): calls `extension` unless Start() was
  // called, then it is FailedPrecondition.
  absl::Status Extend(absl::FunctionRef<absl::Status(Server&)> extension);

 private:
  enum class State { kNew, kStarting, kServing, kStopping, kStopped };

  Provider(const Settings& settings, std::shared_ptr<Registry> registry, bool owns_registry);
  absl::Status Serve();
  absl::Status Register();
  void Stop();
  void MoveTo(State state);

  const Settings settings_;
  const std::shared_ptr<Registry> registry_;
  const bool owns_registry_;
  MethodCounters counters_;
  std::unique_ptr<Admission> admission_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Registration> registration_;
  Endpoint endpoint_;
  Endpoint advertised_;

  absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kNew;
  bool served_ ABSL_GUARDED_BY(mutex_) = false;  // Start() was successful once
  // What Run() waits on.
  TerminationSignals* signals_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_PROVIDER_H_
