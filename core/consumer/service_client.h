// What generated clients are made of: one service as a consumer sees it.
#ifndef MARPC_CONSUMER_SERVICE_CLIENT_H_
#define MARPC_CONSUMER_SERVICE_CLIENT_H_

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "marpc/base/method.h"
#include "marpc/consumer/call_options.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace marpc {

class Consumer;
class ServiceRuntime;

// Thread-safe; copies share everything. May outlive its consumer: calls then fail with reason
// CLOSED.
class ServiceClient {
 public:
  ServiceClient(Consumer& consumer, absl::string_view service);

  // Makes the call in the calling thread. `reply` is meaningful only when the result is OK.
  absl::Status Call(const Method& method, const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* reply, const CallOptions& options) const;

  // Starts the call. `done` runs exactly once: on a thread of the transport; on the consumer's
  // timer thread where the call has waited (for a backoff, for the answer that another call
  // fetched, or for its deadline in either, also when it is cancelled there); or, when the answer
  // is there at once or the call is refused, on the calling thread before this returns. No lock of
  // marpc is held then, and it may call, or destroy, anything of marpc's. It must not block for
  // long: other calls wait for the same threads. What it throws is logged, and goes no further.
  template <typename Reply, typename Request>
  void CallAsync(const Method& method, const Request& request,
                 absl::AnyInvocable<void(absl::StatusOr<Reply>)> done,
                 const CallOptions& options) const;

 private:
  // Owns copies of both messages until `done` has run.
  void StartAsync(const Method& method, std::unique_ptr<google::protobuf::MessageLite> request,
                  std::unique_ptr<google::protobuf::MessageLite> reply,
                  absl::AnyInvocable<void(absl::Status, google::protobuf::MessageLite&)> done,
                  const CallOptions& options) const;

  std::shared_ptr<ServiceRuntime> runtime_;
};

template <typename Reply, typename Request>
void ServiceClient::CallAsync(const Method& method, const Request& request,
                              absl::AnyInvocable<void(absl::StatusOr<Reply>)> done,
                              const CallOptions& options) const {
  StartAsync(
      method, std::make_unique<Request>(request), std::make_unique<Reply>(),
      [done = std::move(done)](absl::Status status, google::protobuf::MessageLite& reply) mutable {
        if (!status.ok()) return done(std::move(status));
        done(std::move(static_cast<Reply&>(reply)));
      },
      options);
}

}  // namespace marpc

#endif  // MARPC_CONSUMER_SERVICE_CLIENT_H_
