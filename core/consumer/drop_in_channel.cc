#include "marpc/consumer/drop_in_channel.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/message.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/impl/serialization_traits.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/client_interceptor.h"
#include "marpc/base/error.h"
#include "marpc/base/method.h"
#include "marpc/base/snapshot_cell.h"
#include "marpc/consumer/service_runtime.h"
#include "marpc/transport/grpc/status.h"

namespace marpc {
namespace {

using google::protobuf::MessageLite;
using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;

// The methods called on one channel. A stub names a method by the same pointer in every call, so
// that finding it again takes a comparison of pointers, and one of texts to be sure.
class MethodTable {
 public:
  const Method* Find(const char* path) {
    const std::shared_ptr<const Entries> known = entries_.Load();
    for (const Entry& entry : *known) {
      if (entry.path == path && entry.method->path == path) return entry.method;
    }
    const Method* method = InternMethodByPath(path);
    if (method == nullptr) return nullptr;
    absl::MutexLock lock(&mutex_);
    auto more = std::make_shared<Entries>(*entries_.Load());
    // Paths that are made anew for each call are not worth keeping.
    if (more->size() < kMaxEntries) more->push_back({path, method});
    entries_.Store(std::move(more));
    return method;
  }

 private:
  static constexpr size_t kMaxEntries = 64;
  struct Entry {
    const char* path;
    const Method* method;
  };
  using Entries = std::vector<Entry>;

  SnapshotCell<Entries> entries_{std::make_shared<Entries>()};
  absl::Mutex mutex_;  // one writer at a time
};

// One call. gRPC enters it with the batch that sends, and, after Hijack(), with what is to be
// received.
class CallInterceptor final : public grpc::experimental::Interceptor {
 public:
  CallInterceptor(std::shared_ptr<ServiceRuntime> runtime, MethodTable& methods,
                  ClientRpcInfo& info)
      : runtime_(std::move(runtime)),
        unary_(info.type() == ClientRpcInfo::Type::UNARY),
        path_(info.method()),
        method_(unary_ ? methods.Find(path_) : nullptr),
        context_(info.client_context()),
        cancel_(std::make_shared<CancelSignal>()) {}

  void Intercept(InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_CANCEL)) {
      cancel_->Cancel();
    }
    const bool sends =
        batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA);
    if (sends && !hijacked_) {
      hijacked_ = true;
      TakeRequest(batch);
      return batch->Hijack();
    }
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_RECV_STATUS)) {
      return MakeCall(batch);
    }
    // A read of a stream: there is nothing to read.
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_RECV_MESSAGE)) {
      batch->FailHijackedRecvMessage();
    }
    batch->Proceed();
  }

 private:
  void TakeRequest(InterceptorBatchMethods* batch) {
    if (method_ == nullptr) {
      status_ = FrameworkError(
          absl::StatusCode::kUnimplemented, reason::kUnimplemented,
          absl::StrCat(path_, " is a streaming method; a marpc channel takes unary calls only"));
      return;
    }
    // A method's policy is found by its place in its service.
    if (method_->service != runtime_->service()) {
      status_ = FrameworkError(
          absl::StatusCode::kInvalidArgument, reason::kUnimplemented,
          absl::StrCat("the channel is for ", runtime_->service(), ", and the call is of ", path_,
                       "; a channel serves the stubs of one service: make another one with "
                       "Consumer::Channel(\"",
                       method_->service, "\")"));
      return;
    }
    for (const auto& [key, value] : *batch->GetSendInitialMetadata()) {
      metadata_.emplace_back(key, value);
    }
    // The completion-queue API has serialised the message already; the others keep it until the
    // call has ended.
    request_ = static_cast<const MessageLite*>(batch->GetSendMessage());
    if (request_ != nullptr) return;
    if (method_->request_prototype == nullptr) {
      status_ = FrameworkError(
          absl::StatusCode::kUnimplemented, reason::kUnimplemented,
          absl::StrCat(path_,
                       ": its request message is not linked into this process, which a call "
                       "through the completion-queue API needs"));
      return;
    }
    own_request_.reset(method_->request_prototype->New());
    grpc::ByteBuffer bytes(*batch->GetSerializedSendMessage());
    const grpc::Status parsed =
        grpc::SerializationTraits<MessageLite>::Deserialize(&bytes, own_request_.get());
    if (!parsed.ok()) status_ = ToAbslStatus(parsed);
    request_ = own_request_.get();
  }

  void MakeCall(InterceptorBatchMethods* batch) {
    auto* reply = static_cast<MessageLite*>(batch->GetRecvMessage());
    if (status_.ok() && reply == nullptr) {
      status_ = absl::InternalError(absl::StrCat(path_, ": gRPC offers no place for the answer"));
    }
    if (!status_.ok()) return Finish(batch);
    ServiceRuntime::AsyncRequest call;
    call.method = method_;
    call.request = request_;
    call.reply = reply;
    call.deadline = CallersDeadline();
    call.metadata = std::move(metadata_);
    call.cancel = cancel_;
    call.answer = &answer_;
    call.done = [this, batch](absl::Status status) {
      status_ = std::move(status);
      Finish(batch);
    };
    runtime_->StartAsync(std::move(call));
  }

  MonotonicTime CallersDeadline() const {
    const auto deadline = context_->deadline();
    if (deadline == std::chrono::system_clock::time_point::max()) {
      return MonotonicTime::InfiniteFuture();
    }
    const auto left = deadline - std::chrono::system_clock::now();
    return Clock::Real().Now() + absl::FromChrono(left);
  }

  void Finish(InterceptorBatchMethods* batch) {
    *batch->GetRecvStatus() = ToGrpcStatus(status_);
    SayWhoAnswered(batch);
    if (!status_.ok() &&
        batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_RECV_MESSAGE)) {
      batch->FailHijackedRecvMessage();
    }
    batch->Proceed();  // may end this object
  }

  // Metadata refers to its texts: these live for ever.
  void SayWhoAnswered(InterceptorBatchMethods* batch) const {
    const bool stale = answer_ == CallReport::Answer::kStale;
    if (!status_.ok() || (!stale && answer_ != CallReport::Answer::kFallback)) return;
    batch->GetRecvTrailingMetadata()->emplace(kAnswerTrailer, stale ? "stale" : "fallback");
  }

  const std::shared_ptr<ServiceRuntime> runtime_;
  const bool unary_;
  const char* const path_;
  const Method* const method_;
  grpc::ClientContext* const context_;
  const std::shared_ptr<CancelSignal> cancel_;
  bool hijacked_ = false;
  const MessageLite* request_ = nullptr;
  std::unique_ptr<MessageLite> own_request_;
  Metadata metadata_;
  absl::Status status_;
  CallReport::Answer answer_ = CallReport::Answer::kNone;
};

class InterceptorFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit InterceptorFactory(std::shared_ptr<ServiceRuntime> runtime)
      : runtime_(std::move(runtime)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(ClientRpcInfo* info) override {
    return new CallInterceptor(runtime_, methods_, *info);
  }

 private:
  const std::shared_ptr<ServiceRuntime> runtime_;
  MethodTable methods_;
};

}  // namespace

std::shared_ptr<grpc::Channel> MakeDropInChannel(std::shared_ptr<ServiceRuntime> runtime) {
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<InterceptorFactory>(runtime));
  grpc::ChannelArguments args;
  // Every call is taken before it is sent, so that where this leads to does not matter.
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      "ipv4:127.0.0.1:9", grpc::InsecureChannelCredentials(), args, std::move(factories));
}

}  // namespace marpc
