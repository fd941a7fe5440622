// A consumer of demo.HelloService on instances that the test lists.
#ifndef MARPC_TESTS_CONSUMER_CONSUMER_FIXTURE_H_
#define MARPC_TESTS_CONSUMER_CONSUMER_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "demo/hello.marpc.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/consumer/consumer.h"

namespace marpc::testing {

inline constexpr char kHelloService[] = "demo.HelloService";

class ConsumerFixture : public ::testing::Test {
 protected:
  ConsumerFixture() { settings_.registry.address = "static:"; }

  void Listed(std::vector<std::string> endpoints) {
    settings_.registry.static_instances[kHelloService] = std::move(endpoints);
  }
  void StartConsumer(ConsumerOptions options = {}) {
    auto consumer = Consumer::Create(settings_, std::move(options));
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    consumer_ = *std::move(consumer);
  }
  static demo::HelloRequest Request(const std::string& name = "Alice") {
    demo::HelloRequest request;
    request.set_name(name);
    return request;
  }
  // Of a status that must have one.
  static ErrorInfo InfoOf(const absl::Status& status) {
    const auto info = GetErrorInfo(status);
    EXPECT_TRUE(info.has_value()) << status;
    return info.value_or(ErrorInfo());
  }

  Settings settings_;
  std::unique_ptr<Consumer> consumer_;
};

// What an asynchronous call ends with.
class AsyncReply {
 public:
  absl::AnyInvocable<void(absl::StatusOr<demo::HelloReply>)> done() {
    return [this](absl::StatusOr<demo::HelloReply> reply) {
      reply_ = std::move(reply);
      ended_.Notify();
    };
  }
  // False when it did not come in far more time than it can take.
  bool Came() const { return ended_.WaitForNotificationWithTimeout(absl::Seconds(10)); }
  const absl::Status& status() const { return reply_.status(); }

 private:
  absl::StatusOr<demo::HelloReply> reply_;
  absl::Notification ended_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_CONSUMER_CONSUMER_FIXTURE_H_
