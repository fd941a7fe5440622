// The caller's context reaches its own handler and nobody else's.
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/provider/serving.h"

namespace marpc::testing {
namespace {

std::string CurrentUser() { return std::string(RpcContext::Current().Get("userId").value_or("-")); }

void AddUser(grpc::ClientContext& context, const std::string& user) {
  RpcContext entries;
  ASSERT_TRUE(entries.Set("userId", user).ok());
  std::vector<std::pair<std::string, std::string>> metadata;
  EncodeContext(entries, metadata);
  for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
}

// Every other call carries a context of its own; each must see exactly its own, or none.
void CallWithAndWithout(demo::HelloService::Stub& stub, int caller, bool quick) {
  for (int i = 0; i < 100; ++i) {
    grpc::ClientContext context;
    SetDeadline(context);
    std::string expected = "-";
    if (i % 2 == 0) {
      expected = absl::StrCat("user-", caller, "-", i, i % 4 == 0 ? "\xff" : "");
      AddUser(context, expected);
    }
    demo::HelloReply reply;
    const grpc::Status status = quick ? stub.Hello(&context, demo::HelloRequest(), &reply)
                                      : stub.Delay(&context, demo::DelayRequest(), &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    // In hexadecimal: the value may be no UTF-8.
    ASSERT_EQ(reply.message(), absl::BytesToHexString(expected));
  }
}

TEST(ContextAtTheProvider, NeverLeaksBetweenRequestsThatShareAThread) {
  Settings settings = TestSettings();
  settings.provider.threads = 2;
  Serving serving(settings);
  const auto answer_user = [](ServerCall&, const auto&, demo::HelloReply* reply) {
    reply->set_message(absl::BytesToHexString(CurrentUser()));
    return absl::OkStatus();
  };
  serving.handler().OnHello(answer_user).OnDelay(answer_user);
  serving.Start();
  std::vector<std::thread> callers;
  callers.reserve(8);
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back(
        [&, caller] { CallWithAndWithout(*serving.stub, caller, caller % 2 == 0); });
  }
  for (std::thread& caller : callers) caller.join();
}

class StockHello final : public demo::HelloService::Service {
  grpc::Status Hello(grpc::ServerContext* context, const demo::HelloRequest*,
                     demo::HelloReply* reply) override {
    EXPECT_EQ(ContextOf(*context).Get("userId").value_or("-"), CurrentUser());
    EXPECT_EQ(RpcContext::Current().deadline().is_infinite(), false);
    reply->set_message(absl::BytesToHexString(CurrentUser()));
    return grpc::Status::OK;
  }
  grpc::Status Delay(grpc::ServerContext*, const demo::DelayRequest*,
                     demo::HelloReply* reply) override {
    reply->set_message(absl::BytesToHexString(CurrentUser()));
    return grpc::Status::OK;
  }
};

TEST(ContextAtTheProvider, IsInForceInASynchronousStockMethod) {
  Serving serving;
  ASSERT_TRUE(AddStockService(serving.provider(), std::make_shared<StockHello>()).ok());
  serving.Start();
  std::vector<std::thread> callers;
  callers.reserve(8);
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back(
        [&, caller] { CallWithAndWithout(*serving.stub, caller, caller % 2 == 0); });
  }
  for (std::thread& caller : callers) caller.join();
}

class CallbackHello final : public demo::HelloService::CallbackService {
  grpc::ServerUnaryReactor* Hello(grpc::CallbackServerContext* context, const demo::HelloRequest*,
                                  demo::HelloReply* reply) override {
    EXPECT_TRUE(RpcContext::Current().empty());
    reply->set_message(std::string(ContextOf(*context).Get("userId").value_or("-")));
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

TEST(ContextAtTheProvider, IsAskedForInACallbackStockMethod) {
  Serving serving;
  CallbackHello service;
  ASSERT_TRUE(AddStockService(serving.provider(), &service).ok());
  serving.Start();
  grpc::ClientContext context;
  AddUser(context, "42");
  demo::HelloReply reply;
  ASSERT_TRUE(serving.Hello(context, "Alice", &reply).ok());
  EXPECT_EQ(reply.message(), "42");
  serving.provider().Shutdown();
}

}  // namespace
}  // namespace marpc::testing
