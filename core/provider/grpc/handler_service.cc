#include "marpc/provider/grpc/handler_service.h"

#include <utility>

#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "grpcpp/impl/rpc_service_method.h"
#include "marpc/base/error.h"
#include "marpc/limit/priority.h"
#include "marpc/provider/grpc/reply_status.h"
#include "marpc/provider/grpc/request_context.h"
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

// A call that waits for its places under the limits.
class HandlerService::WaitingCall final : public CallGate::Waiter {
 public:
  WaitingCall(HandlerService& service, std::unique_ptr<HandlerCall> call)
      : service_(service), call_(std::move(call)) {}
  void OnTurn() override {
    call_->Admit(Clock::Real().Now());
    // A quick one too: this thread ends a call of somebody else's.
    service_.RunSoon(std::move(call_));
  }
  void OnRefused(const CallGate::Refusal& refusal) override {
    call_->Refuse(refusal);
    call_ = nullptr;
  }

 private:
  HandlerService& service_;
  std::unique_ptr<HandlerCall> call_;
};

HandlerService::HandlerService(std::shared_ptr<ServiceHandler> handler, const Shared& shared)
    : handler_(std::move(handler)), shared_(shared) {
  for (const ServiceHandler::MethodEntry& entry : handler_->methods()) Add(entry);
}

void HandlerService::Add(const ServiceHandler::MethodEntry& entry) {
  const Method& method = *entry.method;
  const bool unary = entry.invoke != nullptr;
  // The names of interned methods live for ever, which gRPC needs.
  AddMethod(new grpc::internal::RpcServiceMethod(
      method.path.c_str(),
      unary ? grpc::internal::RpcMethod::NORMAL_RPC : grpc::internal::RpcMethod::BIDI_STREAMING,
      nullptr));
  const int index = static_cast<int>(served_.size());
  served_.push_back({handler_.get(), entry, &shared_.counters.Of(method.full_name),
                     shared_.max_reply_size, &shared_.admission,
                     shared_.admission.gate().Of(method.full_name)});
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
  MonotonicTime admitted_at = MonotonicTime::InfiniteFuture();
  if (served.limits != nullptr &&
      HeldUp(served, *context, *request, *reply, *reactor, admitted_at)) {
    return reactor;
  }
  if (served.entry.method->quick) {
    HandlerCall call(served, *context, *request, *reply, *reactor);
    call.Admit(admitted_at);
    call.Run();
    return reactor;
  }
  auto call = std::make_unique<HandlerCall>(served, *context, *request, *reply, *reactor);
  call->Admit(admitted_at);
  RunSoon(std::move(call));
  return reactor;
}

bool HandlerService::HeldUp(const ServedMethod& served, grpc::CallbackServerContext& context,
                            const grpc::ByteBuffer& request, grpc::ByteBuffer& reply,
                            grpc::ServerUnaryReactor& reactor, MonotonicTime& admitted_at) {
  using Verdict = CallGate::Decision::Verdict;
  CallGate& gate = served.admission->gate();
  const MonotonicTime now = Clock::Real().Now();
  std::string caller;
  if (gate.limits_callers()) {
    caller = CallerOf(context, served.admission->settings().caller_metadata);
  }
  const CallGate::Arrival arrival = {
      .priority = PriorityNamed(MetadataOf(context, kPriorityMetadata)),
      .caller = caller,
      .deadline = DeadlineOf(context)};
  const CallGate::Decision decision = gate.Arrive(*served.limits, arrival, now);
  switch (decision.verdict) {
    case Verdict::kRun:
      admitted_at = now;
      return false;
    case Verdict::kRefuse:
      RefuseCall(served, decision.refusal, context, reactor);
      return true;
    case Verdict::kWait:
      break;
  }
  auto call = std::make_unique<HandlerCall>(served, context, request, reply, reactor);
  gate.Wait(*served.limits, arrival, std::make_shared<WaitingCall>(*this, std::move(call)), now);
  return true;
}

void HandlerService::RunSoon(std::unique_ptr<HandlerCall> call) {
  HandlerCall* const waiting = call.get();
  if (shared_.executor.Submit([waiting] {
        const std::unique_ptr<HandlerCall> owned(waiting);
        owned->RunLate();
      })) {
    (void)call.release();  // the task's now
  } else {
    call->Refuse(shared_.admission.gate().Overloaded(
        "every thread is busy and the queue is full (provider.threads, provider.maxQueued)"));
  }
}

}  // namespace marpc
