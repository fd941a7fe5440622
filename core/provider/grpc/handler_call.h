// One gRPC call to a marpc handler, from the request's bytes to the reply's.
#ifndef MARPC_PROVIDER_GRPC_HANDLER_CALL_H_
#define MARPC_PROVIDER_GRPC_HANDLER_CALL_H_

#include <cstdint>
#include <string>

#include "google/protobuf/arena.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "marpc/limit/call_gate.h"
#include "marpc/provider/admission.h"
#include "marpc/provider/method_counters.h"
#include "marpc/provider/service_handler.h"

namespace marpc {

// What all calls of one method share.
struct ServedMethod {
  ServiceHandler* handler = nullptr;
  ServiceHandler::MethodEntry entry{};
  MethodCounters::Cell* calls = nullptr;
  int64_t max_reply_size = 0;
  Admission* admission = nullptr;
  CallGate::Method* limits = nullptr;  // null: nothing limits it
};

// Answers a call in its handler's stead: the limits refuse it. `reactor` is the call's default one.
void RefuseCall(const ServedMethod& served, const CallGate::Refusal& refusal,
                grpc::CallbackServerContext& context, grpc::ServerUnaryReactor& reactor);

// Exactly one of Run(), RunLate() and the two Refuse() is called, once; it finishes the gRPC call,
// after which nothing of gRPC's may be touched.
class HandlerCall final : public ServerCall {
 public:
  // All of it outlives the gRPC call. `reactor` is the call's default one.
  HandlerCall(const ServedMethod& served, grpc::CallbackServerContext& context,
              const grpc::ByteBuffer& request, grpc::ByteBuffer& reply,
              grpc::ServerUnaryReactor& reactor);
  // Gives back the places that it has under the limits.
  ~HandlerCall() override;

  // The limits have let it through, and it has its places under them.
  void Admit(MonotonicTime now) { admitted_at_ = now; }
  // Reads the request, runs the handler with the caller's context in force, and answers.
  void Run();
  // As Run() for a call that has waited: one that nobody waits for any more is not run.
  void RunLate();
  // Answers in the handler's stead.
  void Refuse(const absl::Status& status);
  void Refuse(const CallGate::Refusal& refusal);
  const ServedMethod& served() const { return served_; }

  const Method& method() const override { return *served_.entry.method; }
  std::string peer() const override { return context_.peer(); }
  MonotonicTime deadline() const override { return rpc_context_.deadline(); }
  bool cancelled() const override { return context_.IsCancelled(); }
  const RpcContext& context() const override { return rpc_context_; }
  absl::string_view metadata(absl::string_view key) const override;
  void AddTrailer(absl::string_view key, absl::string_view value) override;
  void MarkAsProcessFault() override { process_fault_ = true; }

 private:
  absl::Status Invoke(const google::protobuf::MessageLite& request,
                      google::protobuf::MessageLite* reply);
  absl::Status Parse(google::protobuf::MessageLite* request) const;
  absl::Status Serialize(const google::protobuf::MessageLite& reply);
  void FinishOk();
  void FinishHandlerFailure(const absl::Status& status);
  void Finish(const absl::Status& status);

  const ServedMethod& served_;
  grpc::CallbackServerContext& context_;
  const grpc::ByteBuffer& request_;
  grpc::ByteBuffer& reply_;
  grpc::ServerUnaryReactor& reactor_;
  RpcContext rpc_context_;
  size_t trailer_bytes_ = 0;
  bool process_fault_ = false;
  MonotonicTime admitted_at_ = MonotonicTime::InfiniteFuture();  // infinite: nothing limits it
  // It took as long as its work takes.
  bool ran_whole_ = false;
  // Most requests and replies fit without another allocation.
  alignas(8) char first_block_[2048];
  google::protobuf::Arena arena_;
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_GRPC_HANDLER_CALL_H_
