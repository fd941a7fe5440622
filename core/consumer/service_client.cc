#include "marpc/consumer/service_client.h"

#include "google/protobuf/message_lite.h"
#include "marpc/base/chained_cancel.h"
#include "marpc/base/user_code.h"
#include "marpc/consumer/consumer.h"
#include "marpc/consumer/service_runtime.h"
#include "marpc/observe/log.h"

namespace marpc {

ServiceClient::ServiceClient(Consumer& consumer, absl::string_view service)
    : runtime_(consumer.Runtime(service)) {
  // What is missing is said by the calls, each for itself.
  consumer.WaitForService(service).IgnoreError();
}

absl::Status ServiceClient::Call(const Method& method, const google::protobuf::MessageLite& request,
                                 google::protobuf::MessageLite* reply,
                                 const CallOptions& options) const {
  return runtime_->Call(method, request, reply, options);
}

void ServiceClient::StartAsync(
    const Method& method, std::unique_ptr<google::protobuf::MessageLite> request,
    std::unique_ptr<google::protobuf::MessageLite> reply,
    absl::AnyInvocable<void(absl::Status, google::protobuf::MessageLite&)> done,
    const CallOptions& options) const {
  ServiceRuntime::AsyncRequest call;
  call.method = &method;
  call.request = request.get();
  call.reply = reply.get();
  call.deadline = options.DeadlineFrom(Clock::Real().Now());
  call.context = options.context;
  if (options.cancel != nullptr)
    call.cancel = std::make_shared<ChainedCancelSignal>(options.cancel);
  call.report = options.report;
  call.done = [&method, request = std::move(request), reply = std::move(reply),
               done = std::move(done)](absl::Status status) mutable {
    try {
      done(std::move(status), *reply);
    } catch (...) {
      Logger()->error("event=callback_threw method={} what=\"{}\"", method.full_name,
                      WhatWasThrown());
    }
  };
  runtime_->StartAsync(std::move(call));
}

}  // namespace marpc
