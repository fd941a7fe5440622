// Calls of a stock gRPC client to marpc handlers.
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/transport/grpc/status.h"
#include "tests/provider/serving.h"

namespace marpc::testing {
namespace {

using ::testing::HasSubstr;

TEST(HandlerCalls, QuickMethodAnswersOnAThreadOfTheTransport) {
  Serving serving;
  std::thread::id quick_thread;
  std::thread::id slow_thread;
  serving.handler()
      .OnHello([&](ServerCall& call, const demo::HelloRequest& request, demo::HelloReply* reply) {
        quick_thread = std::this_thread::get_id();
        EXPECT_EQ(call.method().full_name, "demo.HelloService/Hello");
        EXPECT_THAT(call.peer(), HasSubstr("127.0.0.1"));
        reply->set_message("hello " + request.name());
        return absl::OkStatus();
      })
      .OnDelay([&](ServerCall&, const demo::DelayRequest&, demo::HelloReply* reply) {
        slow_thread = std::this_thread::get_id();
        reply->set_message("slow");
        return absl::OkStatus();
      });
  serving.Start();
  demo::HelloReply reply;
  ASSERT_TRUE(serving.Hello("Alice", &reply).ok());
  EXPECT_EQ(reply.message(), "hello Alice");
  ASSERT_TRUE(serving.Delay(&reply).ok());
  EXPECT_EQ(reply.message(), "slow");
  EXPECT_NE(quick_thread, slow_thread);

  const MethodCalls calls = serving.provider().calls("demo.HelloService/Hello");
  EXPECT_EQ(calls.arrived, 1u);
  EXPECT_EQ(calls.ok, 1u);
  EXPECT_EQ(calls.running(), 0u);
}

TEST(HandlerCalls, EmptyAndLargeMessagesTravelWhole) {
  Serving serving;
  serving.handler().OnHello(
      [](ServerCall&, const demo::HelloRequest& request, demo::HelloReply* reply) {
        reply->set_message(request.name());
        return absl::OkStatus();
      });
  serving.Start();
  for (const size_t size : {size_t{0}, size_t{1}, size_t{5'000}, size_t{3} << 20}) {
    demo::HelloReply reply;
    const grpc::Status status = serving.Hello(std::string(size, 'x'), &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(reply.message().size(), size);
  }
}

TEST(HandlerCalls, FailureOfTheHandlerIsMarkedAndCarriesItsPayloads) {
  Serving serving;
  serving.handler().OnHello([](ServerCall& call, const demo::HelloRequest&, demo::HelloReply*) {
    absl::Status status = absl::UnavailableError("no stock of tea");
    status.SetPayload("type.googleapis.com/demo.Extra", absl::Cord("bytes"));
    call.AddTrailer("x-shelf", "7");
    return status;
  });
  serving.Start();
  grpc::ClientContext context;
  const grpc::Status status = serving.Hello(context, "Alice");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "no stock of tea");
  EXPECT_EQ(OriginOf(context), "handler");
  EXPECT_EQ(ToAbslStatus(status).GetPayload("type.googleapis.com/demo.Extra"), absl::Cord("bytes"));
  EXPECT_EQ(context.GetServerTrailingMetadata().count("x-shelf"), 1u);
  EXPECT_EQ(serving.provider().calls("demo.HelloService/Hello").failed, 1u);
}

TEST(HandlerCalls, FaultOfTheProcessIsNotMarkedAsTheHandlersAnswer) {
  Serving serving;
  serving.handler().OnHello([](ServerCall& call, const demo::HelloRequest&, demo::HelloReply*) {
    call.MarkAsProcessFault();
    return absl::UnavailableError("the disk is full");
  });
  serving.Start();
  grpc::ClientContext context;
  EXPECT_EQ(serving.Hello(context, "Alice").error_message(), "the disk is full");
  EXPECT_EQ(OriginOf(context), "");
}

TEST(HandlerCalls, ThrowingHandlerAnswersInternalAndTheProcessLivesOn) {
  Serving serving;
  serving.handler().OnHello(
      [](ServerCall&, const demo::HelloRequest& request, demo::HelloReply*) -> absl::Status {
        if (request.name() == "int") throw 42;
        if (request.name() == "exception") throw std::runtime_error("lost the key");
        return absl::OkStatus();
      });
  serving.Start();
  const grpc::Status status = serving.Hello("exception");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("demo.HelloService/Hello"));
  EXPECT_THAT(status.error_message(), HasSubstr("lost the key"));
  EXPECT_EQ(serving.Hello("int").error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_TRUE(serving.Hello("fine").ok());
}

// Sends bytes that are no message of the method.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& path,
                     const std::string& bytes) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, path, request, &queue);
  call->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->Finish(&reply, &status, &queue);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

TEST(HandlerCalls, UnreadableRequestIsRefusedInMarpcsNameAndNeverReachesTheHandler) {
  Serving serving;
  serving.handler().OnHello([](ServerCall&, const demo::HelloRequest&, demo::HelloReply*) {
    ADD_FAILURE() << "the handler ran";
    return absl::OkStatus();
  });
  serving.Start();
  const grpc::Status status = CallRaw(serving.channel, "/demo.HelloService/Hello", "\xff\xff\xff");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("demo.HelloRequest"));
  ASSERT_TRUE(GetErrorInfo(status).has_value());
  EXPECT_EQ(GetErrorInfo(status)->reason(), reason::kBadMessage);
  EXPECT_EQ(serving.provider().calls("demo.HelloService/Hello").refused, 1u);
}

TEST(HandlerCalls, UnknownAndStreamingMethodsAnswerUnimplemented) {
  Serving serving;
  serving.handler()
      .OnHello([](ServerCall&, const demo::HelloRequest&, demo::HelloReply*) {
        return absl::OkStatus();
      })
      .Streaming("Follow");
  serving.Start();
  EXPECT_EQ(CallRaw(serving.channel, "/demo.HelloService/Nothing", "").error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  const grpc::Status status = CallRaw(serving.channel, "/demo.HelloService/Follow", "");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("demo.HelloService/Follow"));
}

TEST(HandlerCalls, ReplyLargerThanTheLimitIsAClearError) {
  Settings settings = TestSettings();
  settings.transport.max_send_message_size = 1000;
  Serving serving(settings);
  serving.handler().OnHello([](ServerCall&, const demo::HelloRequest&, demo::HelloReply* reply) {
    reply->set_message(std::string(2000, 'x'));
    return absl::OkStatus();
  });
  serving.Start();
  grpc::ClientContext context;
  const grpc::Status status = serving.Hello(context, "Alice");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("2003 bytes is larger than 1000"));
  EXPECT_EQ(GetErrorInfo(status)->reason(), reason::kMessageTooLarge);
  EXPECT_EQ(OriginOf(context), "");
}

TEST(HandlerCalls, StatusTooLargeForTheWireKeepsItsCodeAndTheMessagesBeginning) {
  Serving serving;
  serving.handler().OnHello([](ServerCall& call, const demo::HelloRequest&, demo::HelloReply*) {
    call.AddTrailer("x-one", std::string(3'000, '1'));
    call.AddTrailer("x-two", std::string(3'000, '2'));  // over the limit: left out
    call.AddTrailer("Bad Key", "value");                // illegal: left out
    absl::Status status = absl::FailedPreconditionError("begin " + std::string(20'000, '\n'));
    status.SetPayload("type.googleapis.com/demo.Extra", absl::Cord(std::string(50'000, 'x')));
    return status;
  });
  serving.Start();
  grpc::ClientContext context;
  const grpc::Status status = serving.Hello(context, "Alice");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), ::testing::StartsWith("begin \n"));
  EXPECT_THAT(status.error_message(), ::testing::EndsWith(" ..."));
  EXPECT_EQ(OriginOf(context), "handler");
  EXPECT_EQ(context.GetServerTrailingMetadata().count("x-one"), 1u);
  EXPECT_EQ(context.GetServerTrailingMetadata().count("x-two"), 0u);
}

TEST(HandlerCalls, HandlerSeesMetadataAndDeadlineOfTheCaller) {
  Serving serving;
  absl::Duration left;
  serving.handler().OnHello(
      [&](ServerCall& call, const demo::HelloRequest&, demo::HelloReply* reply) {
        left = call.deadline() - Clock::Real().Now();
        EXPECT_EQ(RpcContext::Current().deadline(), call.deadline());
        EXPECT_EQ(call.metadata("x-absent"), "");
        reply->set_message(std::string(call.metadata("x-shelf")));
        return absl::OkStatus();
      });
  serving.Start();
  grpc::ClientContext context;
  context.AddMetadata("x-shelf", "7");
  demo::HelloReply reply;
  ASSERT_TRUE(serving.Hello(context, "Alice", &reply).ok());
  EXPECT_EQ(reply.message(), "7");
  EXPECT_GT(left, absl::ZeroDuration());
  // Some more than the 30 s that were set: the wire carries few digits.
  EXPECT_LE(left, absl::Seconds(60));
}

TEST(HandlerCalls, CancelledCallIsSeenByItsHandler) {
  Serving serving;
  Gate gate;
  std::atomic<bool> saw_cancel{false};
  serving.handler().OnDelay([&](ServerCall& call, const demo::DelayRequest&, demo::HelloReply*) {
    gate.Pass([&] { return call.cancelled(); });
    saw_cancel = call.cancelled();
    return absl::OkStatus();
  });
  serving.Start();
  grpc::ClientContext context;
  std::thread client(
      [&] { EXPECT_EQ(serving.Delay(context).error_code(), grpc::StatusCode::CANCELLED); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  context.TryCancel();
  client.join();
  EXPECT_TRUE(Eventually([&] { return saw_cancel.load(); }));
}

TEST(HandlerCalls, FullQueueIsRefusedInMarpcsNameAndTheRestIsServed) {
  Settings settings = TestSettings();
  settings.provider.threads = 1;
  settings.provider.max_queued = 1;
  Serving serving(settings);
  Gate gate;
  serving.handler().OnDelay(Behind(gate));
  serving.Start();
  std::thread running([&] { EXPECT_TRUE(serving.Delay().ok()); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  std::thread waiting([&] { EXPECT_TRUE(serving.Delay().ok()); });
  ASSERT_TRUE(
      Eventually([&] { return serving.provider().calls("demo.HelloService/Delay").arrived == 2; }));

  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status status = serving.Delay(context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(OriginOf(context), "");
  ASSERT_TRUE(GetErrorInfo(status).has_value());
  EXPECT_EQ(GetErrorInfo(status)->reason(), reason::kOverloaded);
  EXPECT_EQ(GetErrorInfo(status)->origin(), ErrorInfo::FRAMEWORK);
  EXPECT_EQ(GetErrorInfo(status)->method(), "demo.HelloService/Delay");

  gate.Open();
  running.join();
  waiting.join();
  EXPECT_EQ(serving.provider().calls("demo.HelloService/Delay").refused, 1u);
}

TEST(HandlerCalls, CallThatNobodyWaitsForAnyMoreIsNotRun) {
  Settings settings = TestSettings();
  settings.provider.threads = 1;
  Serving serving(settings);
  Gate gate;
  std::atomic<int> entered{0};
  serving.handler().OnDelay([&](ServerCall&, const demo::DelayRequest&, demo::HelloReply*) {
    ++entered;
    gate.Pass();
    return absl::OkStatus();
  });
  serving.handler().OnHello(
      [](ServerCall&, const demo::HelloRequest&, demo::HelloReply*) { return absl::OkStatus(); });
  serving.Start();
  std::thread running([&] { EXPECT_TRUE(serving.Delay().ok()); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  grpc::ClientContext cancelled;
  std::thread waiting([&] { EXPECT_FALSE(serving.Delay(cancelled).ok()); });
  ASSERT_TRUE(
      Eventually([&] { return serving.provider().calls("demo.HelloService/Delay").arrived == 2; }));
  cancelled.TryCancel();
  waiting.join();
  grpc::ClientContext late;
  late.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(20));
  EXPECT_EQ(serving.Delay(late).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  // The server hears of a cancellation some time after the client knows. What one connection
  // carries stays in order, so that after these it has heard.
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(serving.Hello("quick").ok());

  gate.Open();
  running.join();
  serving.provider().Shutdown();
  EXPECT_EQ(entered, 1);
}

}  // namespace
}  // namespace marpc::testing
