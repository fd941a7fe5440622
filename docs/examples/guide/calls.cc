// How calls are made and their failures read: what docs/guide shows, compiled with the tests.
#include <iostream>
#include <memory>

#include "demo/hello.grpc.pb.h"
#include "demo/hello.marpc.h"
#include "grpcpp/channel.h"
#include "marpc/base/error.h"
#include "marpc/consumer/consumer.h"
#include "marpc/context/rpc_context.h"
#include "marpc/transport/grpc/status.h"

absl::Status CallWithOptions(const demo::HelloServiceClient& client,
                             const demo::HelloRequest& request) {
  marpc::CallReport report;
  marpc::CallOptions options;
  options.timeout = absl::Seconds(2);  // of all attempts and waits together
  options.report = &report;
  const absl::Status set = options.context.Set("userId", "42");  // the handler sees it
  if (!set.ok()) return set;

  absl::StatusOr<demo::HelloReply> reply = client.Hello(request, options);
  for (const marpc::AttemptInfo& attempt : report.attempts) {
    std::cerr << attempt.instance() << ": " << attempt.code() << ", " << attempt.verdict() << "\n";
  }
  return reply.status();
}

void CallWithCallback(const demo::HelloServiceClient& client, const demo::HelloRequest& request) {
  client.HelloAsync(request, [](absl::StatusOr<demo::HelloReply> reply) {
    if (reply.ok()) std::cout << reply->message() << "\n";
  });
}

grpc::Status CallByStockStub(marpc::Consumer& consumer, const demo::HelloRequest& request,
                             demo::HelloReply* reply) {
  auto stub = demo::HelloService::NewStub(consumer.Channel("demo.HelloService"));
  grpc::ClientContext context;
  return stub->Hello(&context, request, reply);
}

void Explain(const absl::Status& status) {
  const std::optional<marpc::ErrorInfo> info = marpc::GetErrorInfo(status);
  if (!info.has_value()) return;  // OK, or not made by marpc
  if (info->origin() == marpc::ErrorInfo::BUSINESS) {
    std::cerr << "the handler said no: " << status.message() << "\n";
  } else if (info->reason() == marpc::reason::kCircuitBreakerOpen) {
    std::cerr << "too early, try again in " << info->retry_after().seconds() << " s\n";
  } else {
    std::cerr << info->reason() << " after " << info->attempts_size() << " attempts\n";
  }
}

void ExplainStock(const grpc::Status& status) {
  if (const std::optional<marpc::ErrorInfo> info = marpc::GetErrorInfo(status)) {
    std::cerr << info->reason() << ", attempts: " << info->attempts_size() << "\n";
  }
}
