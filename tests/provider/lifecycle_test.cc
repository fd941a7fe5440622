// Start, health, registration, shutdown.
#include <csignal>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "marpc/provider/termination_signals.h"
#include "tests/provider/serving.h"

namespace marpc::testing {
namespace {

using ::testing::HasSubstr;

absl::Status AnswerOk(ServerCall&, const demo::HelloRequest&, demo::HelloReply*) {
  return absl::OkStatus();
}

TEST(ProviderStart, RegistersTheRealEndpointWithTheSettingsOfTheInstance) {
  Settings settings = TestSettings();
  settings.provider.zone = "north";
  settings.provider.version = "1.2";
  settings.provider.group = "g";
  settings.provider.tags = {"a", "b"};
  settings.provider.gray = true;
  settings.provider.weight = 7;
  settings.provider.metadata = {{"k", "v"}};
  Serving serving(settings);
  serving.handler().OnHello(&AnswerOk);
  serving.Start();
  EXPECT_GT(serving.provider().endpoint().port(), 0);
  EXPECT_EQ(serving.provider().endpoint().host(), "127.0.0.1");
  const auto entries = serving.registry->entries();
  ASSERT_EQ(entries.size(), 1u);
  const Instance& instance = entries.at("demo.HelloService");
  EXPECT_EQ(instance.endpoint, serving.provider().endpoint());
  EXPECT_EQ(instance.app, "provider-test");
  EXPECT_EQ(instance.zone, "north");
  EXPECT_EQ(instance.version, "1.2");
  EXPECT_EQ(instance.group, "g");
  EXPECT_EQ(instance.tags, settings.provider.tags);
  EXPECT_TRUE(instance.gray);
  EXPECT_EQ(instance.weight, 7);
  EXPECT_EQ(instance.metadata, settings.provider.metadata);

  serving.provider().Shutdown();
  EXPECT_TRUE(serving.registry->entries().empty());
}

TEST(ProviderStart, AdvertisesWhatTheSettingsSay) {
  Settings settings = TestSettings();
  settings.provider.advertise = "10.1.2.3:0";
  Serving serving(settings);
  serving.handler().OnHello(&AnswerOk);
  serving.Start();
  EXPECT_EQ(serving.registry->entries().at("demo.HelloService").endpoint.ToString(),
            "10.1.2.3:" + std::to_string(serving.provider().endpoint().port()));
}

TEST(ProviderStart, TakenPortIsNamedWithTheWayOut) {
  Serving first;
  first.handler().OnHello(&AnswerOk);
  first.Start();
  Settings settings = TestSettings();
  settings.provider.instance = first.provider().endpoint().ToString();
  auto second = *Provider::Create(settings, std::make_shared<FakeRegistry>());
  const absl::Status status = second->Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(settings.provider.instance));
  EXPECT_THAT(std::string(status.message()), HasSubstr("provider.port"));
  EXPECT_TRUE(first.Hello("Alice").ok());
}

TEST(ProviderStart, RefusedRegistrationStopsTheServerAgain) {
  Serving serving;
  serving.registry->refusal = absl::InvalidArgumentError("bad name");
  auto handler = std::make_shared<ScriptedHandler>();
  handler->OnHello(&AnswerOk);
  ASSERT_TRUE(serving.provider().AddService(handler).ok());
  const absl::Status status = serving.provider().Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("demo.HelloService"));
  // The port is free again.
  Settings settings = TestSettings();
  settings.provider.instance = serving.provider().endpoint().ToString();
  auto next = *Provider::Create(settings, std::make_shared<FakeRegistry>());
  EXPECT_TRUE(next->Start().ok());
}

TEST(ProviderStart, HappensOnceAndServicesComeBefore) {
  Serving serving;
  serving.handler().OnHello(&AnswerOk);
  serving.Start();
  EXPECT_EQ(serving.provider().Start().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(serving.provider().AddService(std::make_shared<ScriptedHandler>()).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(ProviderStart, SecondHandlerOfOneServiceIsRefused) {
  auto provider = *Provider::Create(TestSettings(), std::make_shared<FakeRegistry>());
  EXPECT_TRUE(provider->AddService(std::make_shared<ScriptedHandler>()).ok());
  EXPECT_EQ(provider->AddService(std::make_shared<ScriptedHandler>()).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(provider->AddService(nullptr).code(), absl::StatusCode::kInvalidArgument);
}

TEST(ProviderStart, UnixSocketServes) {
  Settings settings = TestSettings();
  settings.provider.instance = "unix:" + ::testing::TempDir() + "marpc-provider.sock";
  Serving serving(settings);
  serving.handler().OnHello(&AnswerOk);
  serving.Start();
  EXPECT_EQ(serving.provider().endpoint().ToString(), settings.provider.instance);
  EXPECT_TRUE(serving.Hello("Alice").ok());
}

TEST(ProviderStart, Ipv6LoopbackServes) {
  Settings settings = TestSettings();
  settings.provider.host = "::1";
  Serving serving(settings);
  serving.handler().OnHello(&AnswerOk);
  auto handler = std::make_shared<ScriptedHandler>();
  handler->OnHello(&AnswerOk);
  ASSERT_TRUE(serving.provider().AddService(handler).ok());
  const absl::Status started = serving.provider().Start();
  if (!started.ok()) GTEST_SKIP() << "no IPv6 here: " << started;
  auto stub = demo::HelloService::NewStub(Dial(serving.provider().endpoint()));
  grpc::ClientContext context;
  SetDeadline(context);
  demo::HelloReply reply;
  EXPECT_TRUE(stub->Hello(&context, demo::HelloRequest(), &reply).ok());
}

TEST(ProviderStart, ReflectionListsTheServices) {
  Serving serving;
  serving.handler().OnHello(&AnswerOk);
  serving.Start();
  grpc::GenericStub stub(serving.channel);
  grpc::ClientContext context;
  SetDeadline(context);
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  const auto next = [&] { return queue.Next(&tag, &ok) && ok; };
  const auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(next());
  // ServerReflectionRequest with list_services = "*".
  const grpc::Slice slice("\x3a\x01*");
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  ASSERT_TRUE(next());
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  ASSERT_TRUE(next());
  grpc::Slice bytes;
  ASSERT_TRUE(answer.DumpToSingleSlice(&bytes).ok());
  EXPECT_THAT(std::string(bytes.begin(), bytes.end()), HasSubstr("demo.HelloService"));
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
}

TEST(ProviderHealth, ServesEachServiceAndTheWhole) {
  Serving serving;
  serving.handler().OnHello(&AnswerOk);
  serving.Start();
  EXPECT_EQ(CheckHealth(*serving.channel, "").value, kServing);
  EXPECT_EQ(CheckHealth(*serving.channel, "demo.HelloService").value, kServing);
  EXPECT_EQ(CheckHealth(*serving.channel, "demo.Other").status.error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST(ProviderHealth, WaitsForTheRegistryWhereConfigured) {
  Settings settings = TestSettings();
  settings.provider.wait_for_registration = true;
  settings.registry.connect_timeout = absl::ZeroDuration();
  Serving serving(settings);
  serving.registry->confirms = false;
  serving.handler().OnHello(&AnswerOk);
  serving.Start();
  EXPECT_EQ(CheckHealth(*serving.channel, "").value, kNotServing);
  EXPECT_EQ(CheckHealth(*serving.channel, "demo.HelloService").value, kNotServing);
  EXPECT_TRUE(serving.Hello("Alice").ok());
  serving.registry->confirms = true;
  EXPECT_TRUE(Eventually([&] { return CheckHealth(*serving.channel, "").value == kServing; }));
  EXPECT_EQ(CheckHealth(*serving.channel, "demo.HelloService").value, kServing);
}

TEST(ProviderShutdown, HealthGoesFirstThenTheEntryWhileCallsAreStillTaken) {
  Serving serving;
  int health_at_release = 0;
  bool served_at_release = false;
  serving.registry->on_release = [&] {
    health_at_release = CheckHealth(*serving.channel, "").value;
    served_at_release = serving.Hello("Alice").ok();
  };
  serving.handler().OnHello(&AnswerOk);
  serving.Start();
  serving.provider().Shutdown();
  EXPECT_EQ(health_at_release, kNotServing);
  EXPECT_TRUE(served_at_release);
}

TEST(ProviderShutdown, RunningCallEndsAndNewOnesAreRefused) {
  Serving serving;
  Gate gate;
  serving.handler().OnHello(&AnswerOk).OnDelay(
      [&](ServerCall&, const demo::DelayRequest&, demo::HelloReply* reply) {
        gate.Pass();
        reply->set_message("done");
        return absl::OkStatus();
      });
  serving.Start();
  std::thread running([&] {
    demo::HelloReply reply;
    EXPECT_TRUE(serving.Delay(&reply).ok());
    EXPECT_EQ(reply.message(), "done");
  });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  std::thread stopping([&] { serving.provider().Shutdown(); });
  EXPECT_TRUE(Eventually([&] { return !serving.Hello("Alice").ok(); }));
  gate.Open();
  running.join();
  stopping.join();
  EXPECT_FALSE(serving.Hello("Alice").ok());
  serving.provider().Shutdown();
}

TEST(ProviderShutdown, CallsThatOutliveTheDrainAreCancelled) {
  Settings settings = TestSettings();
  settings.provider.drain_timeout = absl::Milliseconds(20);
  Serving serving(settings);
  Gate gate;
  std::atomic<bool> saw_cancel{false};
  serving.handler().OnDelay([&](ServerCall& call, const demo::DelayRequest&, demo::HelloReply*) {
    gate.Pass([&] { return call.cancelled(); });
    saw_cancel = call.cancelled();
    return absl::OkStatus();
  });
  serving.Start();
  std::thread client([&] { EXPECT_FALSE(serving.Delay().ok()); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  serving.provider().Shutdown();
  EXPECT_TRUE(saw_cancel);
  client.join();
}

TEST(ProviderShutdown, BeforeStartMeansThatItNeverStarts) {
  auto provider = *Provider::Create(TestSettings(), std::make_shared<FakeRegistry>());
  provider->Shutdown();
  EXPECT_EQ(provider->Start().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ProviderRun, EndsBySignalAndDeregisters) {
  Serving serving;
  auto handler = std::make_shared<ScriptedHandler>();
  handler->OnHello(&AnswerOk);
  ASSERT_TRUE(serving.provider().AddService(handler).ok());
  std::thread runner([&] { EXPECT_TRUE(serving.provider().Run().ok()); });
  ASSERT_TRUE(Eventually([&] { return !serving.registry->entries().empty(); }));
  auto other = *Provider::Create(TestSettings(), std::make_shared<FakeRegistry>());
  EXPECT_EQ(other->Run().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  runner.join();
  EXPECT_TRUE(serving.registry->entries().empty());
}

TEST(ProviderRun, EndsByShutdownOfAnotherThread) {
  Serving serving;
  auto handler = std::make_shared<ScriptedHandler>();
  handler->OnHello(&AnswerOk);
  ASSERT_TRUE(serving.provider().AddService(handler).ok());
  std::thread runner([&] { EXPECT_TRUE(serving.provider().Run().ok()); });
  ASSERT_TRUE(Eventually([&] { return !serving.registry->entries().empty(); }));
  serving.provider().Shutdown();
  runner.join();
}

TEST(ProviderRun, GoesOnServingWhatWasStartedBefore) {
  Serving serving;
  auto handler = std::make_shared<ScriptedHandler>();
  handler->OnHello(&AnswerOk);
  ASSERT_TRUE(serving.provider().AddService(handler).ok());
  ASSERT_TRUE(serving.provider().Start().ok());
  std::thread runner([&] { EXPECT_TRUE(serving.provider().Run().ok()); });
  EXPECT_FALSE(serving.registry->entries().empty());
  serving.provider().Shutdown();
  runner.join();
  EXPECT_TRUE(serving.registry->entries().empty());
}

TEST(ProviderRun, SecondSignalEndsTheProcessAtOnce) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        auto signals = *TerminationSignals::Install();
        raise(SIGTERM);
        if (signals->Wait() == SIGTERM) raise(SIGINT);
      },
      ::testing::ExitedWithCode(128 + SIGINT), "");
}

}  // namespace
}  // namespace marpc::testing
