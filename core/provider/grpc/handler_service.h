// A ServiceHandler as gRPC sees it: a service of callback methods that take and give bytes.
#ifndef MARPC_PROVIDER_GRPC_HANDLER_SERVICE_H_
#define MARPC_PROVIDER_GRPC_HANDLER_SERVICE_H_

#include <cstdint>
#include <deque>
#include <memory>

#include "grpcpp/impl/service_type.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "marpc/provider/admission.h"
#include "marpc/provider/executor.h"
#include "marpc/provider/grpc/handler_call.h"
#include "marpc/provider/method_counters.h"
#include "marpc/provider/service_handler.h"

namespace marpc {

// The callback API costs about half the CPU of the synchronous one a call. Quick methods run on
// gRPC's own threads, the others on `executor`.
class HandlerService final : public grpc::Service {
 public:
  // What the services of a provider share; it outlives them.
  struct Shared {
    Executor& executor;
    MethodCounters& counters;
    Admission& admission;
    int64_t max_reply_size;
  };
  HandlerService(std::shared_ptr<ServiceHandler> handler, const Shared& shared);

 private:
  class WaitingCall;
  void Add(const ServiceHandler::MethodEntry& entry);
  grpc::ServerUnaryReactor* Dispatch(const ServedMethod& served,
                                     grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request, grpc::ByteBuffer* reply);
  // Takes over a call whose turn among the limits it is not, or is refused by them. False: it may
  // run, and has its places where `admitted_at` is finite.
  bool HeldUp(const ServedMethod& served, grpc::CallbackServerContext& context,
              const grpc::ByteBuffer& request, grpc::ByteBuffer& reply,
              grpc::ServerUnaryReactor& reactor, MonotonicTime& admitted_at);
  // On a thread of the executor.
  void RunSoon(std::unique_ptr<HandlerCall> call);

  const std::shared_ptr<ServiceHandler> handler_;
  const Shared shared_;
  // std::deque keeps addresses.
  std::deque<ServedMethod> served_;
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_GRPC_HANDLER_SERVICE_H_
