// Stands where the consumer, the network and the provider would be: what a generated client calls
// goes straight to the handler that serves it.
#ifndef MARPC_TESTS_CODEGEN_LOOPBACK_H_
#define MARPC_TESTS_CODEGEN_LOOPBACK_H_

#include <string>

#include "absl/strings/string_view.h"
#include "marpc/base/method.h"
#include "marpc/consumer/call_options.h"
#include "marpc/provider/service_handler.h"

namespace marpc {

class Consumer {};

namespace testing {

// In force while it lives; one at a time.
class Loopback {
 public:
  explicit Loopback(ServiceHandler& handler);
  ~Loopback();

  Consumer& consumer() { return consumer_; }

  absl::Status Serve(const Method& method, const google::protobuf::MessageLite& request,
                     google::protobuf::MessageLite* reply);

  // Of the last client made and the last call.
  std::string service;
  const Method* method = nullptr;
  absl::Duration timeout;

 private:
  ServiceHandler& handler_;
  Consumer consumer_;
};

// The entry of a handler's method. Null when it has none of that name.
const ServiceHandler::MethodEntry* FindEntry(const ServiceHandler& handler, absl::string_view name);

}  // namespace testing
}  // namespace marpc

#endif  // MARPC_TESTS_CODEGEN_LOOPBACK_H_
