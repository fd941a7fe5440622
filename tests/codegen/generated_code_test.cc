#include <string>
#include <type_traits>
#include <utility>

#include "codegen/lite.marpc.h"
#include "codegen/messages_only.marpc.h"
#include "codegen/names.marpc.h"
#include "codegen/no_package.marpc.h"
#include "codegen/old_style.marpc.h"
#include "codegen/options.marpc.h"
#include "codegen/policy.marpc.h"
#include "codegen/streams.marpc.h"
#ifdef GRPC_IMPL_CODEGEN_PORT_PLATFORM_H
#error "generated code must not include gRPC"
#endif

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/policy_options.h"
#include "marpc/options.pb.h"
#include "tests/codegen/loopback.h"

namespace {

using ::marpc::testing::FindEntry;
using ::marpc::testing::Loopback;
using ::testing::HasSubstr;

template <typename Message>
Message WithText(const std::string& text) {
  Message message;
  message.set_text(text);
  return message;
}

class EchoingStreams : public acme::StreamsHandler {
 public:
  absl::Status Unary(marpc::ServerCall& call, const acme::Item& request,
                     acme::Item* reply) override {
    reply->set_text(call.method().full_name + " " + request.text());
    return request.text() == "fail" ? absl::DataLossError("as asked") : absl::OkStatus();
  }
};

TEST(GeneratedClient, ReturnsWhatTheHandlerOfTheMethodAnswers) {
  EchoingStreams handler;
  Loopback loopback(handler);
  const acme::StreamsClient client(loopback.consumer());
  EXPECT_EQ(loopback.service, "acme.Streams");

  absl::StatusOr<acme::Item> reply =
      client.Unary(WithText<acme::Item>("hello"), {.timeout = absl::Seconds(7)});
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->text(), "acme.Streams/Unary hello");
  EXPECT_EQ(loopback.timeout, absl::Seconds(7));

  EXPECT_EQ(client.Unary(WithText<acme::Item>("fail")).status(), absl::DataLossError("as asked"));
}

TEST(GeneratedClient, GivesTheSameAnswersToTheCallbackOfTheAsyncForm) {
  EchoingStreams handler;
  Loopback loopback(handler);
  const acme::StreamsClient client(loopback.consumer());
  absl::StatusOr<acme::Item> reply;
  const auto keep = [&reply](absl::StatusOr<acme::Item> got) { reply = std::move(got); };

  client.UnaryAsync(WithText<acme::Item>("hello"), keep, {.timeout = absl::Seconds(7)});
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->text(), "acme.Streams/Unary hello");
  EXPECT_EQ(loopback.timeout, absl::Seconds(7));

  client.UnaryAsync(WithText<acme::Item>("fail"), keep);
  EXPECT_EQ(reply.status(), absl::DataLossError("as asked"));
}

TEST(GeneratedClient, AndHandlerTakeMessagesFromAnywhere) {
  class Handler : public acme::names::MessagesHandler {
   public:
    absl::Status Request(marpc::ServerCall&, const acme::names::Request& request,
                         acme::names::Request* reply) override {
      *reply = request;
      return absl::OkStatus();
    }
    absl::Status Nested(marpc::ServerCall&, const acme::names::Outer_Inner& request,
                        acme::names::Outer_Inner_Innermost* reply) override {
      reply->set_text(request.text());
      return absl::OkStatus();
    }
    absl::Status Imported(marpc::ServerCall&, const acme::other::Thing::Part& request,
                          acme::other::Thing* reply) override {
      *reply->mutable_part() = request;
      return absl::OkStatus();
    }
    absl::Status WellKnown(marpc::ServerCall&, const google::protobuf::Timestamp& request,
                           google::protobuf::Empty*) override {
      return request.seconds() == 7 ? absl::OkStatus() : absl::InternalError("not 7");
    }
    absl::Status Backslash(marpc::ServerCall&, const acme::names::Request& request,
                           acme::names::Reply* reply) override {
      reply->set_text(request.text());
      return absl::OkStatus();
    }
  } handler;
  Loopback loopback(handler);
  const acme::names::MessagesClient client(loopback.consumer());
  EXPECT_EQ(client.Request(WithText<acme::names::Request>("a"))->text(), "a");
  EXPECT_EQ(client.Nested(WithText<acme::names::Outer::Inner>("b"))->text(), "b");
  EXPECT_EQ(client.Imported(WithText<acme::other::Thing::Part>("c"))->part().text(), "c");
  google::protobuf::Timestamp seven;
  seven.set_seconds(7);
  EXPECT_TRUE(client.WellKnown(seven).ok());
  EXPECT_EQ(client.Backslash(WithText<acme::names::Request>("d"))->text(), "d");
}

TEST(GeneratedClient, WorksWithoutPackageInProto2AndWithTheLiteRuntime) {
  class NoPackage : public WithoutPackageHandler {
    absl::Status Echo(marpc::ServerCall&, const WithoutPackageText& request,
                      WithoutPackageText* reply) override {
      reply->set_text(request.text());
      return absl::OkStatus();
    }
  } no_package;
  {
    Loopback loopback(no_package);
    const WithoutPackageClient client(loopback.consumer());
    EXPECT_EQ(client.Echo(WithText<WithoutPackageText>("a"))->text(), "a");
    EXPECT_EQ(loopback.method->path, "/WithoutPackage/Echo");
  }
  class Old : public acme::old::OldHandler {
    absl::Status Echo(marpc::ServerCall&, const acme::old::OldText& request,
                      acme::old::OldText* reply) override {
      reply->set_text(request.text());
      return absl::OkStatus();
    }
  } old;
  {
    Loopback loopback(old);
    EXPECT_EQ(
        acme::old::OldClient(loopback.consumer()).Echo(WithText<acme::old::OldText>("b"))->text(),
        "b");
    EXPECT_EQ(acme::old::Old::descriptor()->full_name(), "acme.old.Old");
  }
  class Lite : public acme::lite::LiteHandler {
    absl::Status Echo(marpc::ServerCall&, const acme::lite::LiteText& request,
                      acme::lite::LiteText* reply) override {
      reply->set_text(request.text());
      return absl::OkStatus();
    }
  } lite;
  Loopback loopback(lite);
  EXPECT_EQ(
      acme::lite::LiteClient(loopback.consumer()).Echo(WithText<acme::lite::LiteText>("c"))->text(),
      "c");
}

TEST(GeneratedHandler, AnswersUnimplementedNamingTheMethodThatIsNotOverridden) {
  acme::names::NamesHandler handler;
  Loopback loopback(handler);
  const acme::names::NamesClient client(loopback.consumer());
  const absl::Status status = client.Get({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("acme.names.Names/Get"));
}

TEST(GeneratedHandler, ListsStreamingMethodsWithoutSomethingToInvoke) {
  const EchoingStreams handler;
  EXPECT_EQ(handler.service(), "acme.Streams");
  ASSERT_EQ(handler.methods().size(), 4);
  EXPECT_NE(FindEntry(handler, "Unary")->invoke, nullptr);
  for (const char* name : {"ClientStream", "ServerStream", "BothWays"}) {
    ASSERT_NE(FindEntry(handler, name), nullptr) << name;
    EXPECT_EQ(FindEntry(handler, name)->invoke, nullptr) << name;
  }
}

TEST(GeneratedHandler, OfAServiceWithoutMethodsHasNone) {
  acme::names::NothingHandler handler;
  EXPECT_EQ(handler.service(), "acme.names.Nothing");
  EXPECT_TRUE(handler.methods().empty());
  Loopback loopback(handler);
  const acme::names::NothingClient client(loopback.consumer());
  EXPECT_EQ(loopback.service, "acme.names.Nothing");
}

// Every rpc of the service, under the name that it has in C++, must reach the entry of its own.
TEST(GeneratedNames, ThatAreTakenGetAnUnderscoreAndReachTheirOwnMethod) {
  acme::names::NamesHandler handler;
  Loopback loopback(handler);
  using Client = acme::names::NamesClient;
  using Call = absl::StatusOr<acme::names::Reply> (Client::*)(const acme::names::Request&,
                                                              const marpc::CallOptions&) const;
  const Client client(loopback.consumer());
  const std::pair<const char*, Call> calls[] = {
      {"delete", &Client::delete__},
      {"delete_", &Client::delete_},
      {"co_await", &Client::co_await_},
      {"service", &Client::service_},
      {"methods", &Client::methods_},
      {"client_", &Client::client__},
      {"NamesClient", &Client::NamesClient_},
      {"NamesHandler", &Client::NamesHandler_},
      {"Get", &Client::Get},
      {"GetAsync", &Client::GetAsync},
      {"request", &Client::request},
      {"reply", &Client::reply},
      {"call", &Client::call},
      {"done", &Client::done},
      {"options", &Client::options},
      {"handler", &Client::handler},
  };
  EXPECT_EQ(handler.methods().size(), std::size(calls));
  for (const auto& [name, call] : calls) {
    const absl::Status status = (client.*call)({}, {}).status();
    EXPECT_EQ(loopback.method->name, name);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(std::string("acme.names.Names/") + name + " "));
  }
  bool answered = false;
  client.GetAsync_({}, [&](absl::StatusOr<acme::names::Reply>) { answered = true; });
  EXPECT_TRUE(answered);
  EXPECT_EQ(loopback.method->name, "Get");
}

TEST(GeneratedMethods, CarryTheOptionsOfTheProtoFile) {
  struct Expected {
    const char* name;
    bool idempotent;
    bool quick;
  };
  const auto check = [](const marpc::ServiceHandler& handler, const Expected& expected) {
    const marpc::ServiceHandler::MethodEntry* entry = FindEntry(handler, expected.name);
    ASSERT_NE(entry, nullptr) << expected.name;
    EXPECT_EQ(entry->method->idempotent, expected.idempotent) << expected.name;
    EXPECT_EQ(entry->method->quick, expected.quick) << expected.name;
  };
  const acme::marpc::absl::QuickByDefaultHandler quick;
  check(quick, {.name = "Inherits", .idempotent = true, .quick = true});
  check(quick, {.name = "OptsOut", .idempotent = true, .quick = false});
  const acme::marpc::absl::SlowByDefaultHandler slow;
  check(slow, {.name = "OptsIn", .idempotent = false, .quick = true});
  check(slow, {.name = "SaysNothing", .idempotent = false, .quick = false});
}

TEST(GeneratedMethods, CarryTheDeclaredPolicyAsTheDescriptorsHaveIt) {
  const google::protobuf::ServiceDescriptor& service =
      *google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
          "acme.policy.Declared");
  const acme::policy::DeclaredHandler handler;
  ASSERT_EQ(handler.methods().size(), 3);
  for (const marpc::ServiceHandler::MethodEntry& entry : handler.methods()) {
    const auto* method = service.FindMethodByName(entry.method->name);
    ASSERT_NE(method, nullptr);
    EXPECT_EQ(entry.method->policy,
              marpc::PolicyText(method->options().GetExtension(marpc::method)));
    EXPECT_EQ(entry.method->service_policy, "retry.totalTimeout: \"2s\"\n");
  }
  EXPECT_EQ(FindEntry(handler, "Both")->method->policy,
            "retry.maxRetries: 3\n"
            "retry.retryOn: [\"ABORTED\", \"DATA_LOSS\"]\n"
            "retry.backoff.initial: \"20ms\"\n"
            "fallback: \"a \\\"$quoted$\\\" 'name' with \\\\ and ?\?/\"\n");
  EXPECT_EQ(FindEntry(handler, "OfTheService")->method->policy, "");
}

TEST(GeneratedMethods, AreTheInternedOnesInTheOrderOfTheProtoFile) {
  const EchoingStreams handler;
  const marpc::Method& method = *handler.methods()[0].method;
  EXPECT_EQ(&method, marpc::InternMethodByPath("/acme.Streams/Unary"));
  EXPECT_EQ(method.request_prototype, &acme::Item::default_instance());
  EXPECT_EQ(method.reply_prototype, &acme::Item::default_instance());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(handler.methods()[i].method->ordinal, i);
}

}  // namespace
