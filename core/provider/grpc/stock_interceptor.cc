#include "marpc/provider/grpc/stock_interceptor.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "grpcpp/generic/async_generic_service.h"
#include "marpc/context/rpc_context.h"
#include "marpc/provider/grpc/request_context.h"
#include "marpc/transport/grpc/status.h"

namespace marpc {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

class StockInterceptor final : public grpc::experimental::Interceptor {
 public:
  StockInterceptor(ServerRpcInfo& info, MethodCounters::Cell& calls)
      : context_(*info.server_context()),
        // The other kind, grpc::CallbackServerContext, belongs to callback methods.
        synchronous_(dynamic_cast<grpc::ServerContext*>(info.server_context()) != nullptr),
        reached_handler_(info.type() == ServerRpcInfo::Type::CLIENT_STREAMING ||
                         info.type() == ServerRpcInfo::Type::BIDI_STREAMING),
        calls_(calls) {
    calls_.arrived.fetch_add(1);
  }
  ~StockInterceptor() override {
    // Gone without a status: a handler that ended no other way than by a cancelled call.
    if (!counted_) calls_.failed.fetch_add(1);
  }

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE) &&
        methods->GetRecvMessage() != nullptr) {
      reached_handler_ = true;
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      OnStatus(*methods);
    }
    if (synchronous_ &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      // A synchronous handler runs, and ends, inside Proceed(), which may destroy this object.
      const RpcContext::Scope scope(ContextOf(context_));
      methods->Proceed();
      return;
    }
    methods->Proceed();
  }

 private:
  void OnStatus(InterceptorBatchMethods& methods) {
    if (counted_) return;
    counted_ = true;
    if (!reached_handler_) {
      // gRPC could not read the request, or had no thread left for it.
      calls_.refused.fetch_add(1);
    } else if (methods.GetSendStatus().ok()) {
      calls_.ok.fetch_add(1);
    } else {
      calls_.failed.fetch_add(1);
      methods.GetSendTrailingMetadata()->emplace(kOriginTrailer, kOriginHandler);
    }
  }

  grpc::ServerContextBase& context_;
  const bool synchronous_;
  bool reached_handler_;
  bool counted_ = false;
  MethodCounters::Cell& calls_;
};

}  // namespace

grpc::experimental::Interceptor* StockInterceptorFactory::CreateServerInterceptor(
    ServerRpcInfo* info) {
  // What no service has is answered by gRPC's own generic handler, under whatever name the client
  // made up.
  if (dynamic_cast<grpc::GenericCallbackServerContext*>(info->server_context()) != nullptr) {
    return nullptr;
  }
  absl::string_view method = info->method();
  // Without "/": the synchronous form of the same.
  if (!absl::ConsumePrefix(&method, "/") || absl::StartsWith(method, "grpc.")) return nullptr;
  if (not_stock_.contains(method.substr(0, method.find('/')))) return nullptr;
  return new StockInterceptor(*info, counters_.Of(method));
}

}  // namespace marpc
