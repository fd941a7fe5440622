// A marpc handler of demo.HelloService whose methods are functions of the test.
#ifndef MARPC_TESTS_PROVIDER_SCRIPTED_HANDLER_H_
#define MARPC_TESTS_PROVIDER_SCRIPTED_HANDLER_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "demo/hello.pb.h"
#include "marpc/provider/service_handler.h"

namespace marpc::testing {

class ScriptedHandler final : public ServiceHandler {
 public:
  template <typename Request, typename Reply>
  using Function = std::function<absl::Status(ServerCall&, const Request&, Reply*)>;

  // Serves `method`; it is quick or not as the .proto says (Hello is).
  template <typename Request, typename Reply>
  ScriptedHandler& On(const std::string& method, Function<Request, Reply> function) {
    const Method* interned = InternMethodByPath(absl::StrCat("/demo.HelloService/", method));
    entries_.push_back({interned, &Invoke});
    functions_[interned] = [function = std::move(function)](
                               ServerCall& call, const google::protobuf::MessageLite& request,
                               google::protobuf::MessageLite* reply) {
      return function(call, static_cast<const Request&>(request), static_cast<Reply*>(reply));
    };
    return *this;
  }
  ScriptedHandler& OnHello(Function<demo::HelloRequest, demo::HelloReply> function) {
    return On<demo::HelloRequest, demo::HelloReply>("Hello", std::move(function));
  }
  // Not quick: runs on the executor.
  ScriptedHandler& OnDelay(Function<demo::DelayRequest, demo::HelloReply> function) {
    return On<demo::DelayRequest, demo::HelloReply>("Delay", std::move(function));
  }
  // Declares a streaming method, which has no handler.
  ScriptedHandler& Streaming(const std::string& method) {
    entries_.push_back({InternMethodByPath(absl::StrCat("/demo.HelloService/", method)), nullptr});
    return *this;
  }

  absl::string_view service() const override { return "demo.HelloService"; }
  absl::Span<const MethodEntry> methods() const override { return entries_; }

 private:
  static absl::Status Invoke(ServiceHandler& handler, ServerCall& call,
                             const google::protobuf::MessageLite& request,
                             google::protobuf::MessageLite* reply) {
    return static_cast<ScriptedHandler&>(handler).functions_.at(&call.method())(call, request,
                                                                                reply);
  }

  std::vector<MethodEntry> entries_;
  std::map<const Method*, Function<google::protobuf::MessageLite, google::protobuf::MessageLite>>
      functions_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_PROVIDER_SCRIPTED_HANDLER_H_
