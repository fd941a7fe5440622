// The seam between deciding and doing: how one attempt reaches one instance. Nothing above it knows
// which transport runs; `grpc` (transport/grpc/) is the first.
#ifndef MARPC_TRANSPORT_TRANSPORT_H_
#define MARPC_TRANSPORT_TRANSPORT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "marpc/base/cancel.h"
#include "marpc/base/clock.h"
#include "marpc/base/endpoint.h"
#include "marpc/base/method.h"
#include "marpc/config/settings.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace marpc {

// Keys are lower case; `-bin` keys carry bytes.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// What one attempt sends. Everything pointed to outlives the attempt.
struct AttemptRequest {
  const Method* method = nullptr;
  const google::protobuf::MessageLite* request = nullptr;
  google::protobuf::MessageLite* reply = nullptr;
  // Infinite: none.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  // Null: none.
  const Metadata* metadata = nullptr;
  // Attempts of the same call before this one; sent as grpc-previous-rpc-attempts where not 0.
  int previous_attempts = 0;
  // Null: cannot be cancelled.
  CancelSignal* cancel = nullptr;
};

// What became of it.
struct AttemptOutcome {
  enum class Source {
    kHandler,  // the handler answered: OK, or a status of its own
    kPeer,     // the peer answered, but nothing says that it was the handler
    kNetwork,  // no answer: could not connect, broken connection, time out
    kLocal,    // refused on this side: message too large, cannot be serialised, cancelled
  };
  absl::Status status;
  Source source = Source::kHandler;
  // The request surely never reached the peer's handler; sending it again can do no harm.
  bool surely_not_sent = false;
  // The peer's word on when to try again (grpc-retry-pushback-ms, gRFC A6). Negative: not at all.
  std::optional<absl::Duration> pushback;
  // The peer's trailing metadata; filled only when the attempt failed.
  Metadata trailers;
};

// The connections to one endpoint. Thread-safe. Destroying it is safe with attempts in flight: they
// end first or are cancelled, each exactly once.
class Connection {
 public:
  virtual ~Connection() = default;

  // Makes one attempt in the calling thread and returns when it has ended. Never throws.
  virtual AttemptOutcome Call(const AttemptRequest& request) = 0;

  // Starts one attempt; `done` is called exactly once, on a thread of the transport or, before this
  // returns, on the calling one; no lock is held then.
  virtual void Start(const AttemptRequest& request,
                     absl::AnyInvocable<void(AttemptOutcome)> done) = 0;

  // Connects now rather than at the first call; returns at once.
  virtual void WarmUp() {}

  // The registry says that the endpoint is (back) there: try to connect again at once instead of
  // backing off.
  virtual void ResetBackoff() = 0;

  // No call will come any more but by mistake: running ones end as they would, then the connection
  // is closed. A call that does come fails with surely_not_sent. Idempotent.
  virtual void Retire() = 0;
};

// Makes connections. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  // Does not wait for the connection to stand.
  virtual std::shared_ptr<Connection> Connect(const Endpoint& endpoint) = 0;
  // False on a thread that brings the outcomes of started attempts: to wait there for one of them
  // may be to wait for itself.
  virtual bool MayAwaitStarted() const = 0;
};

}  // namespace marpc

#endif  // MARPC_TRANSPORT_TRANSPORT_H_
