#include "marpc/provider/grpc/handler_call.h"

#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"
#include "marpc/base/error.h"
#include "marpc/observe/log.h"
#include "marpc/provider/grpc/reply_status.h"
#include "marpc/provider/grpc/request_context.h"
#include "marpc/transport/grpc/status.h"

namespace marpc {
namespace {

google::protobuf::ArenaOptions StartingWith(char* block, size_t size) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block;
  options.initial_block_size = size;
  return options;
}

void AddPushback(const CallGate::Refusal& refusal, grpc::CallbackServerContext& context) {
  const absl::Duration pushback = PushbackOf(refusal);
  if (pushback <= absl::ZeroDuration()) return;
  // Never sooner than said.
  context.AddTrailingMetadata(
      "grpc-retry-pushback-ms",
      absl::StrCat(static_cast<int64_t>(std::ceil(absl::ToDoubleMilliseconds(pushback)))));
}

absl::Status StatusOf(const Method& method, const CallGate::Refusal& refusal) {
  return MethodError(method, refusal.code, refusal.reason, refusal.message);
}

}  // namespace

void RefuseCall(const ServedMethod& served, const CallGate::Refusal& refusal,
                grpc::CallbackServerContext& context, grpc::ServerUnaryReactor& reactor) {
  served.calls->refused.fetch_add(1);
  AddPushback(refusal, context);
  reactor.Finish(ToGrpcStatus(StatusOf(*served.entry.method, refusal)));
}

HandlerCall::HandlerCall(const ServedMethod& served, grpc::CallbackServerContext& context,
                         const grpc::ByteBuffer& request, grpc::ByteBuffer& reply,
                         grpc::ServerUnaryReactor& reactor)
    : served_(served),
      context_(context),
      request_(request),
      reply_(reply),
      reactor_(reactor),
      rpc_context_(ContextOf(context)),
      arena_(StartingWith(first_block_, sizeof(first_block_))) {}

HandlerCall::~HandlerCall() {
  if (admitted_at_.is_infinite()) return;
  const MonotonicTime now = Clock::Real().Now();
  std::optional<absl::Duration> latency;
  if (ran_whole_) latency = now - admitted_at_;
  served_.admission->gate().Leave(*served_.limits, latency, now);
}

void HandlerCall::Run() {
  google::protobuf::MessageLite* request = method().request_prototype->New(&arena_);
  const absl::Status parsed = Parse(request);
  if (!parsed.ok()) return Refuse(parsed);
  google::protobuf::MessageLite* reply = method().reply_prototype->New(&arena_);
  const absl::Status answer = Invoke(*request, reply);
  // A handler that fails has often not done its work, unless its caller was gone by then.
  ran_whole_ = answer.ok() || cancelled();
  if (!answer.ok()) return FinishHandlerFailure(answer);
  const absl::Status serialized = Serialize(*reply);
  if (serialized.ok()) return FinishOk();
  served_.calls->failed.fetch_add(1);
  Finish(serialized);
}

void HandlerCall::RunLate() {
  if (Clock::Real().Now() >= deadline()) {
    return Refuse(
        MethodError(method(), absl::StatusCode::kDeadlineExceeded, reason::kDeadline,
                    "the deadline passed while the call waited for a thread; it did not run"));
  }
  if (cancelled()) {
    return Refuse(MethodError(method(), absl::StatusCode::kCancelled, reason::kCancelled,
                              "cancelled while it waited for a thread; it did not run"));
  }
  Run();
}

void HandlerCall::Refuse(const absl::Status& status) {
  served_.calls->refused.fetch_add(1);
  Finish(status);
}

void HandlerCall::Refuse(const CallGate::Refusal& refusal) {
  RefuseCall(served_, refusal, context_, reactor_);
}

absl::Status HandlerCall::Invoke(const google::protobuf::MessageLite& request,
                                 google::protobuf::MessageLite* reply) {
  // A copy: the handler may change what it has in force, but not what it was called with.
  const RpcContext::Scope scope(rpc_context_);
  std::string what = "an object that is no std::exception";
  try {
    return served_.entry.invoke(*served_.handler, *this, request, reply);
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
  }
  Logger()->error("event=handler_threw method={} what=\"{}\"", method().full_name, what);
  return absl::InternalError(absl::StrCat(method().full_name, ": the handler threw: ", what));
}

absl::Status HandlerCall::Parse(google::protobuf::MessageLite* request) const {
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&request_));
  if (reader.status().ok() && request->ParseFromZeroCopyStream(&reader) && reader.status().ok()) {
    return absl::OkStatus();
  }
  return MethodError(method(), absl::StatusCode::kInternal, reason::kBadMessage,
                     absl::StrCat("the request of ", request_.Length(), " bytes is no ",
                                  request->GetTypeName(), "; do both sides have the same .proto?"));
}

absl::Status HandlerCall::Serialize(const google::protobuf::MessageLite& reply) {
  if (!reply.IsInitialized()) {
    return MethodError(method(), absl::StatusCode::kInternal, reason::kBadMessage,
                       absl::StrCat("the handler's reply lacks required fields: ",
                                    reply.InitializationErrorString()));
  }
  const size_t size = reply.ByteSizeLong();
  const int64_t limit = std::min<int64_t>(served_.max_reply_size, std::numeric_limits<int>::max());
  if (size > static_cast<size_t>(limit)) {
    return MethodError(
        method(), absl::StatusCode::kResourceExhausted, reason::kMessageTooLarge,
        absl::StrCat("the reply of ", size, " bytes is larger than ", limit,
                     "; raise transport.maxSendMessageSize at the provider or answer "
                     "with less"));
  }
  grpc_slice slice = grpc_slice_malloc(size);
  reply.SerializeWithCachedSizesToArray(GRPC_SLICE_START_PTR(slice));
  const grpc::Slice owned(slice, grpc::Slice::STEAL_REF);
  grpc::ByteBuffer(&owned, 1).Swap(&reply_);
  return absl::OkStatus();
}

void HandlerCall::FinishOk() {
  served_.calls->ok.fetch_add(1);
  reactor_.Finish(grpc::Status::OK);
}

void HandlerCall::FinishHandlerFailure(const absl::Status& status) {
  served_.calls->failed.fetch_add(1);
  if (!process_fault_) context_.AddTrailingMetadata(kOriginTrailer, kOriginHandler);
  Finish(status);
}

void HandlerCall::Finish(const absl::Status& status) {
  reactor_.Finish(FitStatus(status, trailer_bytes_, method().full_name));
}

absl::string_view HandlerCall::metadata(absl::string_view key) const {
  return MetadataOf(context_, key);
}

void HandlerCall::AddTrailer(absl::string_view key, absl::string_view value) {
  absl::Status check = CheckTrailer(key, value);
  if (check.ok() && trailer_bytes_ + TrailerBytes(key, value) > kMaxTrailerBytes) {
    check = absl::ResourceExhaustedError(
        absl::StrCat("trailer '", key, "': more than ", kMaxTrailerBytes, " bytes in all"));
  }
  if (!check.ok()) {
    Logger()->warn("event=trailer_dropped method={} {}", method().full_name,
                   std::string(check.message()));
    return;
  }
  trailer_bytes_ += TrailerBytes(key, value);
  context_.AddTrailingMetadata(std::string(key), std::string(value));
}

}  // namespace marpc
