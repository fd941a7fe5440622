// Runs protoc with the plugin, and the compiler on what it writes, as a user's build does.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Result {
  bool ok;
  std::string output;  // both streams
};

Result RunCommand(const std::string& command) {
  Result result;
  FILE* pipe = popen(absl::StrCat(command, " 2>&1").c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.output.append(buffer, n);
  result.ok = pclose(pipe) == 0;
  return result;
}

class Plugin : public ::testing::Test {
 protected:
  Plugin() {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              absl::StrCat("marpc_plugin_", getpid(), "_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  ~Plugin() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << content;
  }
  std::string Read(const std::string& name) {
    std::stringstream content;
    content << std::ifstream(folder_ / name).rdbuf();
    return content.str();
  }
  Result Protoc(const std::string& name, const std::string& parameter = "") {
    return RunCommand(absl::StrCat(MARPC_TEST_PROTOC,
                                   " --plugin=protoc-gen-marpc=", MARPC_TEST_PLUGIN,
                                   " --marpc_out=", parameter, folder_.string(), " -I",
                                   folder_.string(), " -I", MARPC_TEST_PROTO_DIR, " ", name));
  }

  std::filesystem::path folder_;
};

TEST_F(Plugin, RefusesParametersThatItDoesNotKnow) {
  Write("x.proto", "syntax = \"proto3\";");
  const Result result = Protoc("x.proto", "generate_mock_code=true:");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.output, HasSubstr("unknown parameter \"generate_mock_code=true\""));
}

TEST_F(Plugin, SaysWhereAServiceNeedsTheNameOfAMessage) {
  Write("a/x.proto",
        "syntax = \"proto3\";\n"
        "package acme;\n"
        "message ShopHandler {}\n"
        "\n"
        "  service Shop { rpc Buy(ShopHandler) returns (ShopHandler); }\n");
  const Result result = Protoc("a/x.proto");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.output, HasSubstr("a/x.proto:5:3: service Shop becomes the class ShopHandler, "
                                       "but a/x.proto declares acme.ShopHandler"));
}

TEST_F(Plugin, SaysWhereAnOptionHasAFieldThatItDoesNotKnow) {
  Write("marpc/options.proto",
        "syntax = \"proto3\";\n"
        "package marpc;\n"
        "import \"google/protobuf/descriptor.proto\";\n"
        "message MethodOptions { optional bool later = 4711; }\n"
        "extend google.protobuf.MethodOptions { MethodOptions method = 51017; }\n");
  Write("x.proto",
        "syntax = \"proto3\";\n"
        "import \"marpc/options.proto\";\n"
        "message M {}\n"
        "service Shop {\n"
        "  rpc Buy(M) returns (M);\n"
        "  rpc Sell(M) returns (M) { option (marpc.method) = {later: true}; }\n"
        "}\n");
  const Result result = Protoc("x.proto");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.output, HasSubstr("x.proto:6:3: option (marpc.method) of Shop.Sell sets "
                                       "field 4711"));
}

TEST_F(Plugin, RefusesAPolicyThatAConfigurationWouldBeRefusedFor) {
  struct Case {
    std::string option;  // in lines 6 and following
    std::string expected;
  };
  const std::string in = "option (marpc.method) of acme.Shop.Buy: ";
  const Case cases[] = {
      {"option (marpc.method) = {retry: {max_retries: -1}};",
       "x.proto:6:5: " + in + "retry.max_retries: expected a whole number from 0 to 100, got '-1'"},
      {"option (marpc.method) = {\n      retry: {backoff: {strategy: \"fibonaci\"}}\n    };",
       "x.proto:6:5: " + in + "retry.backoff.strategy: 'fibonaci' is unknown; known: "},
      {"option (marpc.method).quick = true;\n    option (marpc.method).retry.timeout = \"3 s\";",
       "x.proto:7:5: " + in + "retry.timeout: expected a duration"},
      {"option (marpc.method) = {retry: {retry_on: [\"ABORTED\", \"LOST\"]}};",
       "x.proto:6:5: " + in + "retry.retry_on: 'LOST' is unknown; known: ABORTED"},
      {"option (marpc.method) = {circuit_breaker: {fault_limit: 0}};",
       "x.proto:6:5: " + in + "circuit_breaker.fault_limit: expected a whole number from 1"},
      {"option (marpc.method) = {cache: {max_bytes: \"1 MB\"}};",
       "x.proto:6:5: " + in + "cache.max_bytes: expected "},
      {"option (marpc.method) = {degradation: {importance: \"vital\"}};",
       "x.proto:6:5: " + in + "degradation.importance: 'vital' is unknown; known: core"},
      {"option (marpc.method) = {degradation: {retry_after: \"soon\"}};",
       "x.proto:6:5: " + in + "degradation.retry_after: expected a duration"},
      {"option (marpc.method) = {circuit_breaker: {scope: [\"method\"]}};",
       "x.proto:6:5: " + in +
           "circuit_breaker.scope: may not stand in a method; allowed: at the top, "
           "in a service"},
      {"option (marpc.method).circuit_breaker.active_probe = true;",
       "x.proto:6:5: " + in + "circuit_breaker.active_probe: may not stand in a method"},
      // Fine alone, not together.
      {"option (marpc.method) = {retry: {backoff: {initial: \"5s\" max: \"2s\"}}};",
       "x.proto:6:5: " + in + "retry.backoff.max: backoff.max (2s) is below backoff.initial (5s)"},
      {"option (marpc.method) = {retry: {backoff: {min: \"5s\"}}};",
       "x.proto:6:5: " + in + "retry.backoff.min: has no effect with the strategy exponential"},
      {"option (marpc.method) = {timeout: \"5s\" retry: {total_timeout: \"5s\"}};",
       in +
           "timeout: means the same as retry.total_timeout (retry.totalTimeout in YAML); give one"},
  };
  for (const Case& one : cases) {
    Write("x.proto",
          "syntax = \"proto3\";\npackage acme;\nimport \"marpc/options.proto\";\n"
          "service Shop {\n  rpc Buy(M) returns (M) {\n    " +
              one.option + "\n  }\n}\nmessage M {}\n");
    const Result result = Protoc("x.proto");
    EXPECT_FALSE(result.ok) << one.option;
    EXPECT_THAT(result.output, HasSubstr(one.expected)) << one.option;
  }
}

TEST_F(Plugin, RefusesAScopeThatThereIsNot) {
  Write("x.proto",
        "syntax = \"proto3\";\n"
        "import \"marpc/options.proto\";\n"
        "message M {}\n"
        "service Shop {\n"
        "  option (marpc.service).circuit_breaker.enabled = true;\n"
        "  option (marpc.service).circuit_breaker.scope = \"methods\";\n"
        "  rpc Buy(M) returns (M);\n"
        "}\n");
  const Result result = Protoc("x.proto");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(
      result.output,
      HasSubstr("x.proto:6:3: option (marpc.service) of Shop: circuit_breaker.scope: "
                "'methods' is unknown; known: instance, method, service; did you mean 'method'?"));
}

TEST_F(Plugin, NamesAllThatIsWrongWithTheServicesAndMethodsOfAFile) {
  Write("x.proto",
        "syntax = \"proto3\";\n"
        "import \"marpc/options.proto\";\n"
        "message M {}\n"
        "service Shop {\n"
        "  option (marpc.service) = {timeout: \"soon\" retry: {backoff: {strategy: \"list\" "
        "delays: \"1s\"}}};\n"
        "  rpc Buy(M) returns (M) { option (marpc.method) = {retry: {idempotent: true}}; }\n"
        "  rpc Sell(M) returns (M) {\n"
        "    option (marpc.method) = {retry: {backoff: {initial: \"1s\"}}};\n"
        "  }\n"
        "}\n");
  const Result result = Protoc("x.proto");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.output,
              HasSubstr("x.proto:5:3: option (marpc.service) of Shop: timeout: expected"));
  // Beside what the service says.
  EXPECT_THAT(result.output, HasSubstr("x.proto:8:5: option (marpc.method) of Shop.Sell: "
                                       "retry.backoff.initial: has no effect with the strategy "
                                       "list"));
  EXPECT_THAT(result.output, Not(HasSubstr("Shop.Buy")));
}

// Which policies there are is for the process to say.
TEST_F(Plugin, TakesARetryPolicyOfAnyName) {
  Write("x.proto",
        "syntax = \"proto3\";\n"
        "import \"marpc/options.proto\";\n"
        "message M {}\n"
        "service Shop {\n"
        "  rpc Buy(M) returns (M) { option (marpc.method) = {retry: {policy: \"mine\"}}; }\n"
        "}\n");
  const Result result = Protoc("x.proto");
  EXPECT_TRUE(result.ok) << result.output;
  EXPECT_THAT(Read("x.marpc.cc"), HasSubstr("/*policy=*/\"retry.policy: \\\"mine\\\"\\n\""));
}

TEST_F(Plugin, CarriesCommentsOver) {
  Write("x.proto",
        "syntax = \"proto3\";\n"
        "message M {}\n"
        "// Where one buys.\n"
        "service Shop {\n"
        "  // Costs $money$.\n"
        "  //\n"
        "  // Ends in a backslash \\\n"
        "  rpc Buy(M) returns (M);  // Behind.\n"
        "}\n");
  const Result result = Protoc("x.proto");
  ASSERT_TRUE(result.ok) << result.output;
  const std::string header = Read("x.marpc.h");
  EXPECT_THAT(header, HasSubstr("\n// Where one buys.\n//\n// Calls Shop."));
  EXPECT_THAT(header, HasSubstr("  // Costs $money$.\n  //\n  // Ends in a backslash \\.\n"
                                "  // Behind.\n  ::absl::StatusOr<::M> Buy("));
}

TEST_F(Plugin, WritesTheSameForAFileWithoutServices) {
  Write("x.proto", "syntax = \"proto3\"; message M {}");
  const Result result = Protoc("x.proto");
  ASSERT_TRUE(result.ok) << result.output;
  EXPECT_THAT(Read("x.marpc.h"), HasSubstr("#include \"x.pb.h\""));
  EXPECT_THAT(Read("x.marpc.h"), Not(HasSubstr("namespace")));
  EXPECT_THAT(Read("x.marpc.cc"), HasSubstr("#include \"x.marpc.h\""));
}

TEST_F(Plugin, MakesTheUseOfAStreamingMethodACompileErrorThatSaysWhatToDo) {
  Write("use.cc",
        "#include \"codegen/streams.marpc.h\"\n"
        "void Use(const acme::StreamsClient& client) { client.ServerStream(acme::Item()); }\n");
  const Result result = RunCommand(
      absl::StrCat(MARPC_TEST_COMPILE, " -fsyntax-only ", (folder_ / "use.cc").string()));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.output, HasSubstr("acme.Streams/ServerStream is a streaming method"));
  EXPECT_THAT(result.output, HasSubstr("use the stock stub on a channel of"));
}

}  // namespace
