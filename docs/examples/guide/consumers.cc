// What a program adds to a consumer: what docs/guide shows, compiled with the tests.
#include <iostream>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "demo/hello.marpc.h"
#include "marpc/base/endpoint.h"
#include "marpc/consumer/consumer.h"
#include "marpc/consumer/gray_marks.h"
#include "marpc/filter/cache_filter.h"
#include "marpc/filter/mock_filter.h"
#include "marpc/registry/registry.h"

absl::StatusOr<std::unique_ptr<marpc::Consumer>> ConsumerWithFallback(
    const marpc::Settings& settings) {
  marpc::ConsumerOptions options;
  options.fallbacks["cached-hello"] = [](const marpc::Method&, const google::protobuf::MessageLite&,
                                         const absl::Status& error,
                                         google::protobuf::MessageLite* reply) -> absl::Status {
    auto* hello = dynamic_cast<demo::HelloReply*>(reply);
    if (hello == nullptr) return error;  // another method's: its failure stays
    hello->set_message("Hello from yesterday");
    return absl::OkStatus();
  };
  return marpc::Consumer::Create(settings, std::move(options));
}

absl::Status MarkGray(marpc::Consumer& consumer) {
  absl::StatusOr<marpc::Endpoint> endpoint = marpc::Endpoint::Parse("10.0.0.7:8080");
  if (!endpoint.ok()) return endpoint.status();
  // For the whole cluster, in the registry:
  absl::Status marked = consumer.registry().SetGray("demo.HelloService", *endpoint, true);
  if (!marked.ok()) return marked;
  // For this process alone:
  return consumer.gray().Mark("10.0.0.7:8080");
}

void MockHello(marpc::Consumer& consumer) {
  demo::HelloReply reply;
  reply.set_message("hi");
  consumer.mock().Reply("demo.HelloService/Hello", reply);
  consumer.mock().Fail("demo.HelloService/GetUser", absl::NotFoundError("no such user"));
}

void ForgetAnswers(marpc::Consumer& consumer) {
  std::cout << consumer.cache().size() << " answers in " << consumer.cache().bytes() << " bytes\n";
  consumer.cache().Clear();  // of all methods
}

absl::StatusOr<std::unique_ptr<marpc::Consumer>> ConsumerForTest() {
  marpc::Settings settings;
  settings.registry.address = "memory:test";  // needs nothing outside the process
  settings.method_defaults.mock.enabled = true;
  return marpc::Consumer::Create(settings);
}

absl::StatusOr<std::unique_ptr<marpc::Consumer>> ConsumerWithPolicyInCode(
    const marpc::Settings& settings) {
  marpc::ConsumerOptions options;
  options.policies["demo.HelloService/Hello"] = "retry: {maxRetries: 0}";
  return marpc::Consumer::Create(settings, std::move(options));
}

void ShowPolicy(marpc::Consumer& consumer) {
  absl::StatusOr<marpc::PolicyDescription> policy = consumer.Describe("demo.HelloService/Hello");
  if (policy.ok()) std::cout << policy->ToText();
}
