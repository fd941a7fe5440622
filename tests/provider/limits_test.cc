// A provider's limits, as its clients meet them.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "marpc/base/error.h"
#include "marpc/config/load.h"
#include "marpc/transport/grpc/status.h"
#include "tests/provider/serving.h"

namespace marpc::testing {
namespace {

using ::testing::HasSubstr;

// A provider with the keys of `limit`, YAML below provider.limit.
Settings Limited(const std::string& limit) {
  const auto loaded = ParseSettings("marpc: {provider: {limit: {" + limit + "}}}", "test.yaml");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  Settings settings = TestSettings();
  settings.provider.limit = loaded->provider.limit;
  return settings;
}

// The trailer's milliseconds; -1 where there is none.
int PushbackOf(const grpc::ClientContext& context) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto it = trailers.find("grpc-retry-pushback-ms");
  int ms = -1;
  if (it != trailers.end()) {
    EXPECT_TRUE(absl::SimpleAtoi(std::string(it->second.data(), it->second.size()), &ms));
  }
  return ms;
}

std::string ReasonOf(const grpc::Status& status) {
  const auto info = GetErrorInfo(status);
  return info.has_value() ? info->reason() : "";
}

// Counts what runs at a time.
class Running {
 public:
  void Enter() {
    const int now = ++running_;
    int seen = most_.load();
    while (now > seen && !most_.compare_exchange_weak(seen, now)) {
    }
    ++ran_;
  }
  void Leave() { --running_; }
  int most() const { return most_; }
  int ran() const { return ran_; }

 private:
  std::atomic<int> running_{0};
  std::atomic<int> most_{0};
  std::atomic<int> ran_{0};
};

TEST(ProviderLimits, NeverMoreCallsRunThanMayAndTheRestIsTurnedAwayWithAPushback) {
  Serving serving(Limited("maxConcurrent: {demo.HelloService/Delay: 2}, pushback: 40ms"));
  Running running;
  Gate gate;
  serving.handler().OnDelay([&](ServerCall&, const demo::DelayRequest&, demo::HelloReply*) {
    running.Enter();
    gate.Pass();
    running.Leave();
    return absl::OkStatus();
  });
  serving.Start();
  std::vector<std::thread> holders;
  for (int i = 0; i < 2; ++i) {
    holders.emplace_back([&] { EXPECT_TRUE(serving.Delay().ok()); });
  }
  ASSERT_TRUE(gate.WaitForArrivals(2));
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    SetDeadline(context);
    const grpc::Status status = serving.Delay(context);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(ReasonOf(status), reason::kOverloaded);
    EXPECT_EQ(OriginOf(context), "") << "the handler did not say it";
    // Give or take a half, by chance.
    EXPECT_GE(PushbackOf(context), 20);
    EXPECT_LE(PushbackOf(context), 61);
  }
  ASSERT_EQ(serving.provider().limits().size(), 1u);
  EXPECT_EQ(serving.provider().limits()[0].under_way, 2);
  gate.Open();
  for (std::thread& holder : holders) holder.join();
  EXPECT_EQ(running.most(), 2);
  EXPECT_EQ(running.ran(), 2);
  EXPECT_EQ(serving.provider().calls("demo.HelloService/Delay").refused, 20u);
  // Places come back.
  EXPECT_TRUE(Eventually([&] { return serving.provider().limits()[0].under_way == 0; }));
  EXPECT_TRUE(serving.Delay().ok());
}

TEST(ProviderLimits, ManyClientsAtOnceNeverRunMoreThanMayAndWaitersAreServed) {
  Serving serving(Limited("maxConcurrent: 3, maxWaiting: 1000, maxWait: 30s"));
  Running running;
  const auto work = [&] {
    running.Enter();
    std::this_thread::yield();
    running.Leave();
    return absl::OkStatus();
  };
  serving.handler()
      .OnDelay([&](ServerCall&, const demo::DelayRequest&, demo::HelloReply*) { return work(); })
      .OnHello([&](ServerCall&, const demo::HelloRequest&, demo::HelloReply*) { return work(); });
  serving.Start();
  std::vector<std::thread> clients;
  std::atomic<int> answered{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&, i] {
      for (int k = 0; k < 50; ++k) {
        if ((i % 2 == 0 ? serving.Delay() : serving.Hello("x")).ok()) ++answered;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 400);
  EXPECT_EQ(running.ran(), 400);
  EXPECT_LE(running.most(), 3);
}

TEST(ProviderLimits, ACallWaitsForAPlaceAndRuns) {
  Serving serving(Limited("maxConcurrent: 1, maxWaiting: 1, maxWait: 30s"));
  Gate gate;
  serving.handler().OnDelay(Behind(gate));
  serving.Start();
  std::thread first([&] { EXPECT_TRUE(serving.Delay().ok()); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  // One of these waits; the other finds the line full, and is turned away.
  std::atomic<int> answered{0};
  std::atomic<int> turned_away{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&] {
      const grpc::Status status = serving.Delay();
      if (status.ok()) ++answered;
      if (ReasonOf(status) == reason::kOverloaded) ++turned_away;
    });
  }
  ASSERT_TRUE(Eventually([&] { return turned_away == 1; }));
  EXPECT_EQ(answered, 0);
  gate.Open();
  first.join();
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(turned_away, 1);
}

TEST(ProviderLimits, AWaitEndsByItselfThoughNoPlaceBecomesFree) {
  Serving serving(Limited("maxConcurrent: 1, maxWaiting: 10, maxWait: 20ms"));
  Gate gate;
  Running running;
  serving.handler().OnDelay([&](ServerCall&, const demo::DelayRequest&, demo::HelloReply*) {
    running.Enter();
    gate.Pass();
    return absl::OkStatus();
  });
  serving.Start();
  std::thread first([&] { EXPECT_TRUE(serving.Delay().ok()); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status status = serving.Delay(context);
  EXPECT_EQ(ReasonOf(status), reason::kOverloaded);
  EXPECT_THAT(status.error_message(), HasSubstr("provider.limit.maxWait"));
  EXPECT_GE(PushbackOf(context), 0);
  gate.Open();
  first.join();
  EXPECT_EQ(running.ran(), 1) << "what was refused never runs";
}

TEST(ProviderLimits, MetadataSaysWhatIsShedFirst) {
  Serving serving(Limited("maxConcurrent: 2, normalShare: 100, sheddableShare: 50"));
  Gate gate;
  serving.handler().OnDelay(Behind(gate));
  serving.Start();
  std::thread first([&] { EXPECT_TRUE(serving.Delay().ok()); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  grpc::ClientContext sheddable;
  SetDeadline(sheddable);
  sheddable.AddMetadata("marpc-ctx-priority", "sheddable");
  EXPECT_EQ(ReasonOf(serving.Delay(sheddable)), reason::kOverloaded);
  std::thread second([&] { EXPECT_TRUE(serving.Delay().ok()); });
  EXPECT_TRUE(gate.WaitForArrivals(2));
  gate.Open();
  first.join();
  second.join();
}

TEST(ProviderLimits, ARateHoldsForAMethodAndQuickOnesAreLimitedToo) {
  // 3.6 calls an hour: time does not bring another while the test runs.
  Serving serving(Limited("rate: {demo.HelloService/Hello: 0.001}, rateWindow: 1h"));
  std::atomic<int> ran{0};
  serving.handler().OnHello([&](ServerCall&, const demo::HelloRequest&, demo::HelloReply*) {
    ++ran;
    return absl::OkStatus();
  });
  serving.Start();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(serving.Hello("x").ok());
  grpc::ClientContext context;
  const grpc::Status status = serving.Hello(context, "x");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), reason::kRateLimited);
  EXPECT_GT(PushbackOf(context), 60'000) << "an hour's window is not over sooner";
  EXPECT_EQ(ran, 3);
}

TEST(ProviderLimits, CallersAreToldApartByTheMetadataThatIsConfigured) {
  Serving serving(Limited("callerRate: 0.001, rateWindow: 1h, callerMetadata: x-tenant"));
  serving.handler().OnHello(
      [&](ServerCall&, const demo::HelloRequest&, demo::HelloReply*) { return absl::OkStatus(); });
  serving.Start();
  const auto call = [&](const char* tenant) {
    grpc::ClientContext context;
    if (tenant != nullptr) context.AddMetadata("x-tenant", tenant);
    return ReasonOf(serving.Hello(context, "x"));
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call("a"), "");
  EXPECT_EQ(call("a"), reason::kRateLimited);
  EXPECT_EQ(call("b"), "");
  // Those that do not say share what their address has, whatever the port.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(nullptr), "");
  const auto other = demo::HelloService::NewStub(Dial(serving.provider().endpoint()));
  grpc::ClientContext context;
  SetDeadline(context);
  demo::HelloReply reply;
  EXPECT_EQ(ReasonOf(other->Hello(&context, demo::HelloRequest(), &reply)), reason::kRateLimited);
}

TEST(ProviderLimits, AnAutomaticLimitIsInForceAndCallsCount) {
  Serving serving(Limited("maxConcurrent: {demo.HelloService: auto}, auto: {initial: 7, max: 9}"));
  serving.handler().OnDelay(
      [&](ServerCall&, const demo::DelayRequest&, demo::HelloReply*) { return absl::OkStatus(); });
  serving.Start();
  ASSERT_EQ(serving.provider().limits().size(), 1u);
  EXPECT_EQ(serving.provider().limits()[0].name, "demo.HelloService");
  EXPECT_EQ(serving.provider().limits()[0].limit, 7);
  EXPECT_TRUE(serving.provider().limits()[0].automatic);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(serving.Delay().ok());
}

TEST(ProviderLimits, AFullQueueForThreadsGivesPlacesBackAndSaysWhenToComeBack) {
  Settings settings = Limited("maxConcurrent: 10, pushback: 40ms");
  settings.provider.threads = 1;
  settings.provider.max_queued = 1;
  Serving serving(settings);
  Gate gate;
  serving.handler().OnDelay(Behind(gate));
  serving.Start();
  std::thread running([&] { EXPECT_TRUE(serving.Delay().ok()); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  std::thread waiting([&] { EXPECT_TRUE(serving.Delay().ok()); });
  ASSERT_TRUE(Eventually([&] { return serving.provider().limits()[0].under_way == 2; }));
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status status = serving.Delay(context);
  EXPECT_EQ(ReasonOf(status), reason::kOverloaded);
  EXPECT_THAT(status.error_message(), HasSubstr("provider.maxQueued"));
  EXPECT_GE(PushbackOf(context), 20);
  EXPECT_TRUE(Eventually([&] { return serving.provider().limits()[0].under_way == 2; }));
  gate.Open();
  running.join();
  waiting.join();
  EXPECT_TRUE(Eventually([&] { return serving.provider().limits()[0].under_way == 0; }));
}

TEST(ProviderLimits, CallsThatWaitDoNotHoldUpAShutdown) {
  Serving serving(Limited("maxConcurrent: 1, maxWaiting: 10, maxWait: 50ms"));
  Gate gate;
  serving.handler().OnDelay([&](ServerCall& call, const demo::DelayRequest&, demo::HelloReply*) {
    gate.Pass([&] { return call.cancelled(); });
    return absl::OkStatus();
  });
  serving.Start();
  std::vector<std::thread> clients;
  for (int i = 0; i < 5; ++i) clients.emplace_back([&] { serving.Delay(); });
  ASSERT_TRUE(gate.WaitForArrivals(1));
  ASSERT_TRUE(
      Eventually([&] { return serving.provider().calls("demo.HelloService/Delay").arrived == 5; }));
  std::thread stop([&] { serving.provider().Shutdown(); });
  gate.Open();
  stop.join();
  for (std::thread& client : clients) client.join();
}

TEST(ProviderLimits, SettingsThatCannotBeInForceAreRefused) {
  Settings settings = TestSettings();
  settings.provider.limit.max_concurrent = {{kAllCalls, ConcurrencyLimit{.calls = 0}}};
  const auto provider = Provider::Create(settings, std::make_shared<FakeRegistry>());
  EXPECT_TRUE(absl::IsInvalidArgument(provider.status())) << provider.status();
  EXPECT_THAT(std::string(provider.status().message()), HasSubstr("provider.limit.maxConcurrent"));
}

}  // namespace
}  // namespace marpc::testing
