// What protoc-gen-marpc derives a service's handler base class from: a service as a provider sees
// it, without a word about the transport that brings the requests.
#ifndef MARPC_PROVIDER_SERVICE_HANDLER_H_
#define MARPC_PROVIDER_SERVICE_HANDLER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "marpc/base/clock.h"
#include "marpc/base/method.h"
#include "marpc/context/rpc_context.h"

namespace marpc {

// One call as its handler sees it. Valid until the handler returns; for the handler's thread only.
class ServerCall {
 public:
  virtual ~ServerCall() = default;

  virtual const Method& method() const = 0;
  // The caller's address, in the transport's words.
  virtual std::string peer() const = 0;
  // When the caller stops waiting. Infinite: it did not say.
  virtual MonotonicTime deadline() const = 0;
  // The caller is gone: cancelled, disconnected or past its deadline. May be asked by any thread
  // while the call runs.
  virtual bool cancelled() const = 0;
  // The caller's context entries; also in force as RpcContext::Current() while the handler runs.
  virtual const RpcContext& context() const = 0;
  // The first value of a request metadata key, which is lower case. Empty when there is none.
  virtual absl::string_view metadata(absl::string_view key) const = 0;
  // Sent with the status, in success and in failure.
  virtual void AddTrailer(absl::string_view key, absl::string_view value) = 0;
  // The failure that the handler is about to return is no answer to this request but says that the
  // process cannot serve ("not warm yet", "the disk is full"). Consumers then treat it as they
  // treat a fault of the network: they try another instance and count it against this one. Without
  // it, a handler's failure is a business error.
  virtual void MarkAsProcessFault() {}
};

// A set of handlers. Its methods are called by many threads at once.
class ServiceHandler {
 public:
  struct MethodEntry {
    const Method* method;
    // Null where the .proto declares a streaming method: it is answered with UNIMPLEMENTED.
    absl::Status (*invoke)(ServiceHandler& handler, ServerCall& call,
                           const google::protobuf::MessageLite& request,
                           google::protobuf::MessageLite* reply);
  };

  virtual ~ServiceHandler() = default;
  // demo.HelloService
  virtual absl::string_view service() const = 0;
  virtual absl::Span<const MethodEntry> methods() const = 0;
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_SERVICE_HANDLER_H_
