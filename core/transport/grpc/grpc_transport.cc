#include "marpc/transport/grpc/grpc_transport.h"

#include <arpa/inet.h>
#include <pthread.h>

#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/impl/client_unary_call.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/impl/rpc_method.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/channel_arguments.h"
#include "grpcpp/support/client_callback.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/transport/connection_group.h"
#include "marpc/transport/grpc/outcome.h"

namespace marpc {
namespace {

using google::protobuf::MessageLite;

// Of a call that has ended on a connection, gRPC calls the peer by its address; of one that has not
// reached any, by the channel's target. The target is therefore written in a form that no address
// has.
std::string TargetOf(const Endpoint& endpoint) {
  if (endpoint.is_unix()) return absl::StrCat("unix://", endpoint.host());
  in_addr v4;
  if (inet_pton(AF_INET, endpoint.host().c_str(), &v4) == 1) {
    return absl::StrCat("ipv4:///", endpoint.ToString());
  }
  if (absl::StrContains(endpoint.host(), ':')) return absl::StrCat("ipv6:///", endpoint.ToString());
  return absl::StrCat("dns:///", endpoint.ToString());
}

// `number`: of the connection to its endpoint. gRPC shares one among the channels that are alike,
// and the number, which it does not know, makes them differ.
grpc::ChannelArguments ArgumentsFor(const TransportSettings& settings, int number) {
  const auto ms = [](absl::Duration d) { return static_cast<int>(absl::ToInt64Milliseconds(d)); };
  grpc::ChannelArguments args;
  // Ours are the only retries: gRPC's would multiply them.
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  args.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // An HTTP proxy of the environment is for the web, not for the neighbour's port.
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, ms(settings.reconnect_backoff_initial));
  // Despite its name, what one try to connect may take.
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, ms(settings.reconnect_backoff_max));
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, ms(settings.reconnect_backoff_max));
  if (settings.keepalive_time > absl::ZeroDuration()) {
    args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ms(settings.keepalive_time));
    args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ms(settings.keepalive_timeout));
  }
  args.SetMaxReceiveMessageSize(static_cast<int>(settings.max_receive_message_size));
  const bool for_ever = settings.idle_timeout == absl::ZeroDuration();
  args.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS,
              for_ever ? std::numeric_limits<int>::max() : ms(settings.idle_timeout));
  if (number > 0) args.SetInt("marpc.connection", number);
  // Our own check of what is sent comes first, and says more.
  args.SetMaxSendMessageSize(-1);
  return args;
}

// gRPC 1.51 runs callbacks on threads that all channels of the process share and that it joins when
// the last channel goes. Should that happen in a callback, the thread would join itself. One
// channel that never goes prevents it.
void KeepCallbackThreadsForEver() {
  // Volatile, or the optimiser drops what nobody reads, and the leak check misses its owner.
  static const std::shared_ptr<grpc::Channel>* const volatile keeper = [] {
    auto* channel = new std::shared_ptr<grpc::Channel>(grpc::CreateChannel("", nullptr));
    struct Probe {
      grpc::ClientContext context;
      grpc::Slice nothing;
      grpc::ByteBuffer request{&nothing, 1};
      grpc::ByteBuffer reply;
      absl::Notification ended;
    } probe;
    // Fails at once, since the channel has no credentials; what counts is that it has asked for the
    // threads.
    grpc::GenericStub(*channel).UnaryCall(&probe.context, "/", {}, &probe.request, &probe.reply,
                                          [&probe](grpc::Status) { probe.ended.Notify(); });
    probe.ended.WaitForNotification();
    return channel;
  }();
  (void)keeper;
}

class CancelCall final : public CancelSignal::Observer {
 public:
  explicit CancelCall(grpc::ClientContext* context) : context_(context) {}
  void OnCancel() override { context_->TryCancel(); }

 private:
  grpc::ClientContext* const context_;
};

class GrpcConnection final : public Connection {
 public:
  GrpcConnection(const Endpoint& endpoint, const TransportSettings& settings, int number,
                 const Clock& clock)
      : endpoint_(endpoint),
        target_(TargetOf(endpoint)),
        max_send_(settings.max_send_message_size),
        clock_(clock),
        channel_(grpc::CreateCustomChannel(target_, grpc::InsecureChannelCredentials(),
                                           ArgumentsFor(settings, number))) {}

  AttemptOutcome Call(const AttemptRequest& request) override {
    const std::shared_ptr<grpc::Channel> channel = Channel();
    if (channel == nullptr) return HasLeft(endpoint_);
    if (const size_t size = request.request->ByteSizeLong(); size > max_send_) {
      return TooLargeToSend(size, max_send_);
    }
    grpc::ClientContext context;
    Prepare(request, context);
    CancelCall cancel_call(&context);
    if (request.cancel != nullptr && !request.cancel->Attach(&cancel_call)) context.TryCancel();
    const grpc::internal::RpcMethod method(request.method->path.c_str(),
                                           grpc::internal::RpcMethod::NORMAL_RPC);
    grpc::ByteBuffer answer;
    const grpc::Status status = grpc::internal::BlockingUnaryCall<MessageLite, grpc::ByteBuffer>(
        channel.get(), method, &context, *request.request, &answer);
    if (request.cancel != nullptr) request.cancel->Detach(&cancel_call);
    return OutcomeOf({status, context, target_, request.cancel}, answer, request.reply);
  }

  void Start(const AttemptRequest& request,
             absl::AnyInvocable<void(AttemptOutcome)> done) override {
    const std::shared_ptr<grpc::Channel> channel = Channel();
    if (channel == nullptr) return done(HasLeft(endpoint_));
    if (const size_t size = request.request->ByteSizeLong(); size > max_send_) {
      return done(TooLargeToSend(size, max_send_));
    }
    KeepCallbackThreadsForEver();
    auto* call = new AsyncAttempt(request, target_, std::move(done));
    Prepare(request, call->context);
    if (request.cancel != nullptr && !request.cancel->Attach(&call->cancel_call)) {
      call->context.TryCancel();
    }
    const grpc::internal::RpcMethod method(request.method->path.c_str(),
                                           grpc::internal::RpcMethod::NORMAL_RPC);
    grpc::internal::CallbackUnaryCall<MessageLite, grpc::ByteBuffer>(
        channel.get(), method, &call->context, request.request, &call->answer,
        [call](grpc::Status status) { call->Finish(status); });
  }

  void WarmUp() override {
    if (const auto channel = Channel()) channel->GetState(/*try_to_connect=*/true);
  }

  void ResetBackoff() override {
    if (const auto channel = Channel())
      grpc::experimental::ChannelResetConnectionBackoff(channel.get());
  }

  void Retire() override {
    std::shared_ptr<grpc::Channel> dropped;
    PlainMutexLock lock(&mutex_);
    dropped.swap(channel_);
  }

 private:
  // Owns itself from Start() to its end.
  struct AsyncAttempt {
    AsyncAttempt(const AttemptRequest& request, const std::string& target_in,
                 absl::AnyInvocable<void(AttemptOutcome)> done_in)
        : cancel_call(&context),
          cancel(request.cancel),
          reply(request.reply),
          target(target_in),
          done(std::move(done_in)) {}

    void Finish(const grpc::Status& status) {
      if (cancel != nullptr) cancel->Detach(&cancel_call);
      AttemptOutcome outcome = OutcomeOf({status, context, target, cancel}, answer, reply);
      absl::AnyInvocable<void(AttemptOutcome)> then = std::move(done);
      delete this;
      then(std::move(outcome));
    }

    grpc::ClientContext context;
    CancelCall cancel_call;
    CancelSignal* const cancel;
    MessageLite* const reply;
    grpc::ByteBuffer answer;
    const std::string target;
    absl::AnyInvocable<void(AttemptOutcome)> done;
  };

  std::shared_ptr<grpc::Channel> Channel() {
    PlainMutexLock lock(&mutex_);
    return channel_;
  }

  void Prepare(const AttemptRequest& request, grpc::ClientContext& context) const {
    if (!request.deadline.is_infinite()) {
      const absl::Duration left = request.deadline - clock_.Now();
      context.set_deadline(
          gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                       gpr_time_from_nanos(absl::ToInt64Nanoseconds(left), GPR_TIMESPAN)));
    }
    if (request.metadata != nullptr) {
      for (const auto& [key, value] : *request.metadata) context.AddMetadata(key, value);
    }
    if (request.previous_attempts > 0) {
      context.AddMetadata("grpc-previous-rpc-attempts", absl::StrCat(request.previous_attempts));
    }
  }

  const Endpoint endpoint_;
  const std::string target_;
  const size_t max_send_;
  const Clock& clock_;
  PlainMutex mutex_;
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
};

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(const TransportSettings& settings, const Clock& clock)
      : settings_(settings), clock_(clock) {}

  std::shared_ptr<Connection> Connect(const Endpoint& endpoint) override {
    if (settings_.connections_per_instance == 1) return One(endpoint, 0);
    std::vector<std::shared_ptr<Connection>> connections;
    for (int i = 0; i < settings_.connections_per_instance; ++i) {
      connections.push_back(One(endpoint, i));
    }
    return std::make_shared<ConnectionGroup>(std::move(connections));
  }

  // Callbacks of every kind, a server's too, share the few threads that gRPC 1.51 gives this name
  // and no other sign.
  bool MayAwaitStarted() const override {
    char name[16] = "";
    return pthread_getname_np(pthread_self(), name, sizeof name) != 0 ||
           std::strcmp(name, "nexting_thread") != 0;
  }

 private:
  std::shared_ptr<Connection> One(const Endpoint& endpoint, int number) const {
    return std::make_shared<GrpcConnection>(endpoint, settings_, number, clock_);
  }

  const TransportSettings settings_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<Transport> MakeGrpcTransport(const TransportSettings& settings,
                                             const Clock& clock) {
  return std::make_unique<GrpcTransport>(settings, clock);
}

}  // namespace marpc
