#include "marpc/provider/grpc/handler_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "grpcpp/impl/rpc_service_method.h"
#include "marpc/base/error.h"
#include "marpc/provider/grpc/reply_status.h"
#include "marpc/transport/grpc/status.h"

namespace marpc {
namespace {

using UnaryHandler = grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
using StreamHandler = grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>;

// Answers a streaming call at once.
class RefusedStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const absl::Status& status) { Finish(ToGrpcStatus(status)); }
  void OnDone() override { delete this; }
};

absl::Status StreamsUnimplemented(const Method& method) {
  return MethodError(
      method, absl::StatusCode::kUnimplemented, reason::kUnimplemented,
      "this streaming method has no marpc handler; serve it by a stock gRPC service");
}

}  // namespace

HandlerService::HandlerService(std::shared_ptr<ServiceHandler> handler, Executor& executor,
                               MethodCounters& counters, int64_t max_reply_size)
    : handler_(std::move(handler)), executor_(executor) {
  for (const ServiceHandler::MethodEntry& entry : handler_->methods()) {
    Add(entry, counters, max_reply_size);
  }
}

void HandlerService::Add(const ServiceHandler::MethodEntry& entry, MethodCounters& counters,
                         int64_t max_reply_size) {
  const Method& method = *entry.method;
  const bool unary = entry.invoke != nullptr;
  // The names of interned methods live for ever, which gRPC needs.
  AddMethod(new grpc::internal::RpcServiceMethod(
      method.path.c_str(),
      unary ? grpc::internal::RpcMethod::NORMAL_RPC : grpc::internal::RpcMethod::BIDI_STREAMING,
      nullptr));
  const int index = static_cast<int>(served_.size());
  served_.push_back({handler_.get(), entry, &counters.Of(method.full_name), max_reply_size});
  const ServedMethod& served = served_.back();
  if (unary) {
    MarkMethodRawCallback(
        index,
        new UnaryHandler([this, &served](grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
          return Dispatch(served, context, request, reply);
        }));
  } else {
    MarkMethodRawCallback(index, new StreamHandler([&served](grpc::CallbackServerContext*) {
                            served.calls->arrived.fetch_add(1);
                            served.calls->refused.fetch_add(1);
                            return new RefusedStream(StreamsUnimplemented(*served.entry.method));
                          }));
  }
}

grpc::ServerUnaryReactor* HandlerService::Dispatch(const ServedMethod& served,
                                                   grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request,
                                                   grpc::ByteBuffer* reply) {
  served.calls->arrived.fetch_add(1);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (served.entry.method->quick) {
    HandlerCall(served, *context, *request, *reply, *reactor).Run();
    return reactor;
  }
  auto call = std::make_unique<HandlerCall>(served, *context, *request, *reply, *reactor);
  HandlerCall* const waiting = call.get();
  if (executor_.Submit([waiting] {
        const std::unique_ptr<HandlerCall> owned(waiting);
        owned->RunLate();
      })) {
    (void)call.release();  // the task's now
  } else {
    call->Refuse(MethodError(
        *served.entry.method, absl::StatusCode::kResourceExhausted, reason::kOverloaded,
        "every thread is busy and the queue is full (provider.threads, provider.maxQueued)"));
  }
  return reactor;
}

}  // namespace marpc
