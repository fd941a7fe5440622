// Scene 1: calls and overloads. The generated client, blocking and with a callback, and a stock
// gRPC stub on a marpc channel give the same answers.
#include "absl/synchronization/notification.h"
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.grpc.pb.h"
#include "demo/hello.marpc.h"
#include "grpcpp/channel.h"
#include "marpc/transport/grpc/status.h"

namespace demo {
namespace {

constexpr char kGreeting[] = "Hello, Alice!";

HelloRequest Alice() {
  HelloRequest request;
  request.set_name("Alice");
  return request;
}

void CallByGeneratedClient(marpc::Consumer& consumer, Evidence& evidence) {
  const HelloServiceClient client(consumer);
  for (int i = 0; i < Stage::kProviders; ++i) {
    const absl::StatusOr<HelloReply> reply = client.Hello(Alice());
    if (!evidence.ExpectOk(reply.status(), "Hello")) continue;
    evidence.ExpectEqual(reply->message(), kGreeting, "the answer of Hello");
  }
  HelloTimesRequest twice;
  twice.set_name("Alice");
  twice.set_times(2);
  const absl::StatusOr<HelloReply> times = client.HelloTimes(twice);
  if (evidence.ExpectOk(times.status(), "HelloTimes")) {
    evidence.ExpectEqual(times->message(), "Hello, Alice! Hello, Alice!", "the overload's answer");
  }
  AddRequest numbers;
  numbers.set_a(40);
  numbers.set_b(2);
  const absl::StatusOr<AddReply> sum = client.Add(numbers);
  if (evidence.ExpectOk(sum.status(), "Add")) evidence.ExpectEqual(sum->sum(), 42, "40 + 2");
}

void CallWithCallback(marpc::Consumer& consumer, Evidence& evidence) {
  const HelloServiceClient client(consumer);
  absl::Notification done;
  absl::StatusOr<HelloReply> got;
  client.HelloAsync(Alice(), [&](absl::StatusOr<HelloReply> reply) {
    got = std::move(reply);
    done.Notify();
  });
  done.WaitForNotification();
  if (!evidence.ExpectOk(got.status(), "HelloAsync")) return;
  evidence.ExpectEqual(got->message(), kGreeting, "the answer of HelloAsync");
}

void CallByStockStub(marpc::Consumer& consumer, Evidence& evidence) {
  const auto stub = HelloService::NewStub(consumer.Channel("demo.HelloService"));
  HelloReply reply;
  grpc::ClientContext context;
  const grpc::Status status = stub->Hello(&context, Alice(), &reply);
  if (evidence.ExpectOk(marpc::ToAbslStatus(status), "Hello by a stock stub")) {
    evidence.ExpectEqual(reply.message(), kGreeting, "the stock stub's answer");
  }
  AddRequest numbers;
  numbers.set_a(-7);
  numbers.set_b(7);
  AddReply sum;
  grpc::ClientContext add_context;
  const grpc::Status added = stub->Add(&add_context, numbers, &sum);
  if (!evidence.ExpectOk(marpc::ToAbslStatus(added), "Add by a stock stub")) return;
  evidence.ExpectEqual(sum.sum(), 0, "-7 + 7");
}

}  // namespace

absl::Status PlayBasic(Stage& stage, Evidence& evidence) {
  const auto consumer = stage.MakeConsumer("loadbalancer: roundrobin");
  if (!consumer.ok()) return consumer.status();
  const auto arrivals = ArrivalCount::Begin(stage.fleet());
  if (!arrivals.ok()) return arrivals.status();

  CallByGeneratedClient(**consumer, evidence);
  CallWithCallback(**consumer, evidence);
  CallByStockStub(**consumer, evidence);

  const auto hello = arrivals->Of("Hello");
  const auto times = arrivals->TotalOf("HelloTimes");
  const auto add = arrivals->TotalOf("Add");
  if (!hello.ok()) return hello.status();
  if (!times.ok()) return times.status();
  if (!add.ok()) return add.status();
  evidence.ExpectEqual(Sum(*hello), 5, "the number of Hello calls that arrived");
  evidence.ExpectEqual(*times, 1, "the number of HelloTimes calls that arrived");
  evidence.ExpectEqual(*add, 2, "the number of Add calls that arrived");
  for (const auto& [instance, count] : *hello) {
    evidence.Expect(count > 0, absl::StrCat("Hello reaches ", instance));
  }
  evidence.Measure("hello_arrivals", *hello);
  evidence.Measure("hello_times_arrivals", *times);
  evidence.Measure("add_arrivals", *add);
  evidence.Summarise("8 calls, 3 methods: generated client, callback and stock stub agree");
  return absl::OkStatus();
}

}  // namespace demo
