#include "tests/codegen/loopback.h"

#include <utility>

#include "google/protobuf/message_lite.h"
#include "marpc/consumer/service_client.h"

namespace marpc {
namespace testing {
namespace {

Loopback* in_force = nullptr;

class LoopbackCall : public ServerCall {
 public:
  explicit LoopbackCall(const Method& method) : method_(method) {}
  const Method& method() const override { return method_; }
  std::string peer() const override { return "loopback"; }
  MonotonicTime deadline() const override { return MonotonicTime::InfiniteFuture(); }
  bool cancelled() const override { return false; }
  const RpcContext& context() const override { return RpcContext::Current(); }
  absl::string_view metadata(absl::string_view) const override { return {}; }
  void AddTrailer(absl::string_view, absl::string_view) override {}

 private:
  const Method& method_;
};

}  // namespace

Loopback::Loopback(ServiceHandler& handler) : handler_(handler) { in_force = this; }
Loopback::~Loopback() { in_force = nullptr; }

absl::Status Loopback::Serve(const Method& called, const google::protobuf::MessageLite& request,
                             google::protobuf::MessageLite* reply) {
  method = &called;
  for (const ServiceHandler::MethodEntry& entry : handler_.methods()) {
    if (entry.method != &called) continue;
    LoopbackCall call(called);
    return entry.invoke(handler_, call, request, reply);
  }
  return absl::NotFoundError("the handler has no such method");
}

const ServiceHandler::MethodEntry* FindEntry(const ServiceHandler& handler,
                                             absl::string_view name) {
  for (const ServiceHandler::MethodEntry& entry : handler.methods()) {
    if (entry.method->name == name) return &entry;
  }
  return nullptr;
}

}  // namespace testing

// What marpc::core would bring.
class ServiceRuntime {};

ServiceClient::ServiceClient(Consumer& /*consumer*/, absl::string_view service) {
  testing::in_force->service = std::string(service);
}

absl::Status ServiceClient::Call(const Method& method, const google::protobuf::MessageLite& request,
                                 google::protobuf::MessageLite* reply,
                                 const CallOptions& options) const {
  testing::in_force->timeout = options.timeout;
  return testing::in_force->Serve(method, request, reply);
}

void ServiceClient::StartAsync(
    const Method& method, std::unique_ptr<google::protobuf::MessageLite> request,
    std::unique_ptr<google::protobuf::MessageLite> reply,
    absl::AnyInvocable<void(absl::Status, google::protobuf::MessageLite&)> done,
    const CallOptions& options) const {
  absl::Status status = Call(method, *request, reply.get(), options);
  done(std::move(status), *reply);
}

}  // namespace marpc
