// Scene 6: mocks, from YAML and from code, answer and fail without any provider.
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.marpc.h"
#include "demo/user.marpc.h"
#include "marpc/filter/mock_filter.h"

namespace demo {
namespace {

constexpr char kYaml[] = R"(filter: {mock: {enabled: true}}
services:
  demo.HelloService:
    methods:
      Hello: {filter: {mock: {reply: '{"message": "mocked by YAML"}'}}}
  demo.UserService:
    methods:
      Get: {filter: {mock: {code: PERMISSION_DENIED, message: not for you}}})";

struct Answers {
  int mocked = 0;
  int real = 0;
};

void Count(const marpc::CallReport& report, Answers& answers) {
  answers.mocked += report.answer == marpc::CallReport::Answer::kMock ? 1 : 0;
  answers.real += report.answer == marpc::CallReport::Answer::kRemote ? 1 : 0;
}

void AskMockedByYaml(marpc::Consumer& consumer, Evidence& evidence, Answers& answers) {
  marpc::CallReport report;
  marpc::CallOptions options;
  options.report = &report;
  const absl::StatusOr<HelloReply> hello = HelloServiceClient(consumer).Hello({}, options);
  Count(report, answers);
  if (evidence.ExpectOk(hello.status(), "Hello, mocked")) {
    evidence.ExpectEqual(hello->message(), "mocked by YAML", "the mocked answer");
  }
  const absl::Status get = UserServiceClient(consumer).Get({}, options).status();
  Count(report, answers);
  evidence.Expect(absl::IsPermissionDenied(get) && get.message() == "not for you",
                  absl::StrCat("UserService.Get fails as mocked: ", InWords(get)));
}

void AskAdd(marpc::Consumer& consumer, int64_t expected, Evidence& evidence, Answers& answers) {
  marpc::CallReport report;
  marpc::CallOptions options;
  options.report = &report;
  AddRequest request;
  request.set_a(1);
  request.set_b(1);
  const absl::StatusOr<AddReply> sum = HelloServiceClient(consumer).Add(request, options);
  Count(report, answers);
  if (!evidence.ExpectOk(sum.status(), "Add")) return;
  evidence.ExpectEqual(sum->sum(), expected, "1 + 1");
}

}  // namespace

absl::Status PlayMock(Stage& stage, Evidence& evidence) {
  const auto consumer = stage.MakeConsumer(kYaml);
  if (!consumer.ok()) return consumer.status();
  const auto arrivals = ArrivalCount::Begin(stage.fleet());
  if (!arrivals.ok()) return arrivals.status();

  Answers answers;
  AskMockedByYaml(**consumer, evidence, answers);
  AddReply three;
  three.set_sum(3);
  (*consumer)->mock().Reply("demo.HelloService/Add", three);
  AskAdd(**consumer, 3, evidence, answers);
  (*consumer)->mock().Clear();
  AskAdd(**consumer, 2, evidence, answers);

  const absl::StatusOr<int64_t> hello = arrivals->TotalOf("Hello");
  const absl::StatusOr<int64_t> get = arrivals->TotalOf("UserService/Get");
  const absl::StatusOr<int64_t> add = arrivals->TotalOf("Add");
  for (const auto* counted : {&hello, &get, &add}) {
    if (!counted->ok()) return counted->status();
  }
  evidence.ExpectEqual(*hello, 0, "arrivals of the mocked Hello");
  evidence.ExpectEqual(*get, 0, "arrivals of the mocked UserService.Get");
  evidence.ExpectEqual(*add, 1, "arrivals of Add, once it was no longer mocked");
  evidence.ExpectEqual(answers.mocked, 3, "the number of mocked answers");
  evidence.ExpectEqual(answers.real, 1, "the number of real answers");
  evidence.Measure("mocked_answers", answers.mocked);
  evidence.Measure("arrivals_of_mocked_methods", *hello + *get);
  evidence.Measure("arrivals_once_unmocked", *add);
  evidence.Summarise("3 mocked answers (YAML reply, YAML status, code), 0 arrivals");
  return absl::OkStatus();
}

}  // namespace demo
