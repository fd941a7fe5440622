// Stock gRPC services on a marpc provider.
#include "marpc/provider/grpc/stock_service.h"

#include <memory>
#include <string>

#include "demo/user.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/provider/serving.h"

namespace marpc::testing {
namespace {

using ::testing::HasSubstr;

class StockHello final : public demo::HelloService::Service {
  grpc::Status Hello(grpc::ServerContext*, const demo::HelloRequest* request,
                     demo::HelloReply* reply) override {
    if (request->name() == "fail") {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "own", "own \xff details");
    }
    reply->set_message("hello " + request->name());
    return grpc::Status::OK;
  }
};

TEST(StockService, IsFoundRegisteredAndServed) {
  Serving serving;
  ASSERT_TRUE(AddStockService(serving.provider(), std::make_shared<StockHello>()).ok());
  serving.Start();
  EXPECT_EQ(serving.registry->entries().count("demo.HelloService"), 1u);
  EXPECT_EQ(serving.registry->entries().size(), 1u);
  EXPECT_EQ(CheckHealth(*serving.channel, "demo.HelloService").value, kServing);
  demo::HelloReply reply;
  ASSERT_TRUE(serving.Hello("Alice", &reply).ok());
  EXPECT_EQ(reply.message(), "hello Alice");
  EXPECT_EQ(serving.provider().calls("demo.HelloService/Hello").ok, 1u);
}

TEST(StockService, FailureIsMarkedAndKeepsItsOwnDetails) {
  Serving serving;
  ASSERT_TRUE(AddStockService(serving.provider(), std::make_shared<StockHello>()).ok());
  serving.Start();
  grpc::ClientContext context;
  const grpc::Status status = serving.Hello(context, "fail");
  EXPECT_EQ(status.error_message(), "own");
  EXPECT_EQ(status.error_details(), "own \xff details");
  EXPECT_EQ(OriginOf(context), "handler");
  EXPECT_EQ(serving.provider().calls("demo.HelloService/Hello").failed, 1u);
}

TEST(StockService, UnknownMethodIsNotMarkedAsTheHandlers) {
  Serving serving;
  ASSERT_TRUE(AddStockService(serving.provider(), std::make_shared<StockHello>()).ok());
  serving.Start();
  grpc::ClientContext context;
  SetDeadline(context);
  auto stub = demo::UserService::NewStub(serving.channel);
  demo::User user;
  EXPECT_EQ(stub->Get(&context, demo::UserId(), &user).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(OriginOf(context), "");
  // Nor counted: the names that clients make up would pile up.
  EXPECT_TRUE(serving.provider().calls().empty());
}

TEST(StockService, LivesBesideAMarpcHandler) {
  class StockUsers final : public demo::UserService::Service {};
  Serving serving;
  serving.handler().OnHello([](ServerCall&, const demo::HelloRequest&, demo::HelloReply*) {
    return absl::AbortedError("from the handler");
  });
  ASSERT_TRUE(AddStockService(serving.provider(), std::make_shared<StockUsers>()).ok());
  serving.Start();
  EXPECT_EQ(serving.registry->entries().size(), 2u);
  grpc::ClientContext context;
  EXPECT_EQ(serving.Hello(context, "Alice").error_message(), "from the handler");
  // Once: by the handler's own path, not by the interceptor's too.
  EXPECT_EQ(context.GetServerTrailingMetadata().count("marpc-origin"), 1u);
  EXPECT_EQ(serving.provider().calls("demo.HelloService/Hello").arrived, 1u);
}

TEST(StockService, CompletionQueueServiceIsRefused) {
  Serving serving;
  demo::HelloService::AsyncService service;
  const absl::Status status = AddStockService(serving.provider(), &service);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("callback"));
}

TEST(StockService, TwoServicesOfOneNameAreRefused) {
  Serving serving;
  ASSERT_TRUE(AddStockService(serving.provider(), std::make_shared<StockHello>()).ok());
  ASSERT_TRUE(AddStockService(serving.provider(), std::make_shared<StockHello>()).ok());
  const absl::Status status = serving.provider().Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
}

}  // namespace
}  // namespace marpc::testing
