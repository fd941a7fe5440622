// A provider in this process whose method Delay is the test's, counting what arrives.
#ifndef MARPC_TESTS_PITFALLS_NODE_H_
#define MARPC_TESTS_PITFALLS_NODE_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "demo/hello.pb.h"
#include "gtest/gtest.h"
#include "marpc/provider/provider.h"
#include "marpc/registry/registry.h"
#include "tests/provider/fake_registry.h"
#include "tests/provider/gate.h"
#include "tests/provider/scripted_handler.h"

namespace marpc::testing {

class Node {
 public:
  using Handler = ScriptedHandler::Function<demo::DelayRequest, demo::HelloReply>;

  // Serves from now on, on any free port. Null registry: it enters itself nowhere.
  explicit Node(Handler handler = Answer(), Settings settings = QuickSettings(),
                std::shared_ptr<Registry> registry = std::make_shared<FakeRegistry>()) {
    auto scripted = std::make_shared<ScriptedHandler>();
    scripted->OnDelay([this, handler = std::move(handler)](ServerCall& call,
                                                           const demo::DelayRequest& request,
                                                           demo::HelloReply* reply) {
      arrivals_.fetch_add(1);
      return handler(call, request, reply);
    });
    scripted->OnHello([](auto&, auto&, auto*) { return absl::OkStatus(); });
    provider_ = *Provider::Create(settings, std::move(registry));
    EXPECT_TRUE(provider_->AddService(std::move(scripted)).ok());
    const absl::Status started = provider_->Start();
    EXPECT_TRUE(started.ok()) << started;
  }

  int arrivals() const { return arrivals_.load(); }
  Provider& provider() { return *provider_; }
  std::string endpoint() const { return provider_->endpoint().ToString(); }

  static Settings QuickSettings() {
    Settings settings;
    settings.app = "pitfalls";
    settings.provider.threads = 8;
    settings.provider.propagation_delay = absl::ZeroDuration();
    return settings;
  }

  static Handler Answer() {
    return [](auto&, auto&, auto*) { return absl::OkStatus(); };
  }
  // As a process that cannot serve.
  static Handler Fault() {
    return [](ServerCall& call, auto&, auto*) {
      call.MarkAsProcessFault();
      return absl::UnavailableError("sick");
    };
  }
  // Until its caller is gone.
  static Handler Hang() {
    return [](ServerCall& call, auto&, auto*) {
      Eventually([&] { return call.cancelled(); });
      return absl::CancelledError("gone");
    };
  }
  // Answers when the gate is open.
  static Handler Behind(Gate& gate) {
    return [&gate](ServerCall& call, auto&, auto*) {
      return gate.Pass([&] { return call.cancelled(); }) ? absl::OkStatus()
                                                         : absl::CancelledError("gone");
    };
  }
  static Handler After(absl::Duration delay) {
    return [delay](auto&, auto&, auto*) {
      absl::SleepFor(delay);
      return absl::OkStatus();
    };
  }

 private:
  std::atomic<int> arrivals_{0};
  std::unique_ptr<Provider> provider_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_PITFALLS_NODE_H_
