// A consumer of demo.HelloService, and its method Delay called in each style.
#ifndef MARPC_TESTS_PITFALLS_CALLS_H_
#define MARPC_TESTS_PITFALLS_CALLS_H_

#include <atomic>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "demo/hello.grpc.pb.h"
#include "demo/hello.marpc.h"
#include "grpcpp/channel.h"
#include "gtest/gtest.h"
#include "marpc/consumer/consumer.h"
#include "marpc/transport/grpc/status.h"
#include "tests/provider/gate.h"

namespace marpc::testing {

inline constexpr char kHello[] = "demo.HelloService";

enum class Style { kBlocking, kAsync, kStockBlocking, kStockCallback };
inline constexpr Style kStyles[] = {Style::kBlocking, Style::kAsync, Style::kStockBlocking,
                                    Style::kStockCallback};
inline std::ostream& operator<<(std::ostream& out, Style style) {
  constexpr const char* kNames[] = {"blocking", "async", "stock blocking", "stock callback"};
  return out << kNames[static_cast<int>(style)];
}

inline Settings StaticSettings(std::vector<std::string> endpoints) {
  Settings settings;
  settings.registry.address = "static:";
  settings.registry.static_instances[kHello] = std::move(endpoints);
  return settings;
}

class Caller {
 public:
  explicit Caller(const Settings& settings, ConsumerOptions options = {}) {
    auto made = Consumer::Create(settings, std::move(options));
    EXPECT_TRUE(made.ok()) << made.status();
    consumer_ = *std::move(made);
    client_ = std::make_unique<demo::HelloServiceClient>(*consumer_);
    stub_ = demo::HelloService::NewStub(consumer_->Channel(kHello));
  }

  // Unknown when it never ended.
  absl::Status Delay(Style style, const CallOptions& options = {}) {
    switch (style) {
      case Style::kBlocking:
        return client_->Delay(demo::DelayRequest(), options).status();
      case Style::kAsync:
        return Wait([&](auto done) {
          client_->DelayAsync(
              demo::DelayRequest(), [done](auto reply) { done(reply.status()); }, options);
        });
      case Style::kStockBlocking: {
        grpc::ClientContext context;
        demo::HelloReply reply;
        return ToAbslStatus(stub_->Delay(&context, demo::DelayRequest(), &reply));
      }
      case Style::kStockCallback: {
        struct Call {
          grpc::ClientContext context;
          demo::DelayRequest request;
          demo::HelloReply reply;
        };
        auto call = std::make_shared<Call>();
        return Wait([&](auto done) {
          stub_->async()->Delay(&call->context, &call->request, &call->reply,
                                [done, call](grpc::Status status) { done(ToAbslStatus(status)); });
        });
      }
    }
    return absl::InternalError("no such style");
  }
  absl::Status Delay(const CallOptions& options = {}) { return Delay(Style::kBlocking, options); }

  Consumer& consumer() { return *consumer_; }
  demo::HelloServiceClient& client() { return *client_; }
  demo::HelloService::Stub& stub() { return *stub_; }
  const CallCounters& counters() { return consumer_->Counters(kHello); }
  void Destroy() {
    client_.reset();
    consumer_.reset();
  }

 private:
  template <typename Start>
  static absl::Status Wait(Start start) {
    struct End {
      absl::Notification reached;
      absl::Status status;
    };
    auto end = std::make_shared<End>();
    start([end](absl::Status status) {
      end->status = std::move(status);
      end->reached.Notify();
    });
    if (!end->reached.WaitForNotificationWithTimeout(absl::Seconds(20))) {
      return absl::UnknownError("the call has not ended");
    }
    return end->status;
  }

  std::unique_ptr<Consumer> consumer_;
  std::unique_ptr<demo::HelloServiceClient> client_;
  std::unique_ptr<demo::HelloService::Stub> stub_;
};

// Calls of Delay until both have been reached, so that what follows meets open connections.
template <typename... Nodes>
void Warm(Caller& caller, const Nodes&... nodes) {
  const auto cold = [&] { return ((nodes.arrivals() == 0) || ...); };
  for (int i = 0; i < 100 && cold(); ++i) caller.Delay().IgnoreError();
  ASSERT_FALSE(cold());
}

// Callbacks, more than there are threads for them, that each make a blocking call through the same
// client. The instances must live in another process: in this one they would need the threads that
// the callbacks hold.
inline void CallFromCallbacks(Caller& caller) {
  constexpr int kCallbacks = 32;
  std::atomic<int> inner{0};
  for (int i = 0; i < kCallbacks; ++i) {
    caller.client().DelayAsync(demo::DelayRequest(), [&](auto reply) {
      EXPECT_TRUE(reply.ok()) << reply.status();
      const absl::Status inner_status = caller.Delay(Style::kBlocking);
      EXPECT_TRUE(inner_status.ok()) << inner_status;
      inner.fetch_add(1);
    });
  }
  ASSERT_TRUE(Eventually([&] { return inner.load() == kCallbacks; }));
}

}  // namespace marpc::testing

#endif  // MARPC_TESTS_PITFALLS_CALLS_H_
