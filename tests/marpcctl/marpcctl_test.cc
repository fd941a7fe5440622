// The operators' command line, run as they run it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/registry/registry.h"
#include "tests/registry/registry_fixture.h"
#include "tests/support/temporary_folder.h"

namespace marpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Ran {
  int code = -1;
  std::string text;  // both outputs
};

class MarpcctlTest : public testing::Test {
 protected:
  static Ran Run(const std::string& arguments) {
    Ran ran;
    FILE* pipe = popen(absl::StrCat(MARPCCTL, " ", arguments, " 2>&1").c_str(), "r");
    if (pipe == nullptr) return ran;
    char buffer[4096];
    while (size_t got = fread(buffer, 1, sizeof(buffer), pipe)) ran.text.append(buffer, got);
    const int status = pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
  }
  Ran RunHere(const std::string& arguments) const {
    return Run(absl::StrCat("--registry file:", folder_, " ", arguments));
  }
  std::shared_ptr<Registry> Open(const std::string& env = "dev") const {
    Settings settings;
    settings.env = env;
    settings.registry.address = "file:" + folder_;
    return *OpenRegistry(settings);
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_ / "registry";
};

TEST_F(MarpcctlTest, HelpSaysWhatThereIs) {
  const Ran ran = Run("--help");
  EXPECT_EQ(ran.code, 0);
  for (const char* command :
       {"instances", "gray", "breaker", "level", "directives", "--registry", "--env", "--config"}) {
    EXPECT_THAT(ran.text, HasSubstr(command));
  }
}

TEST_F(MarpcctlTest, InstancesAreListedWithTheirMarks) {
  auto registry = Open();
  Instance instance = MakeInstance("127.0.0.1:1");
  instance.zone = "eu-1a";
  instance.weight = 7;
  auto one = registry->Register(kService, instance);
  auto two = registry->Register(kService, MakeInstance("127.0.0.1:20"));
  ASSERT_TRUE(Eventually([&] { return (*one)->registered() && (*two)->registered(); }));
  EXPECT_EQ(RunHere("gray demo.HelloService add 127.0.0.1:20").code, 0);
  EXPECT_EQ(RunHere("gray demo.HelloService add 127.0.0.1:3").code, 0);
  const Ran ran = RunHere("instances demo.HelloService");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.text,
            "ENDPOINT      WEIGHT  GRAY  ZONE   VERSION  APP\n"
            "127.0.0.1:1   7       -     eu-1a  -        test\n"
            "127.0.0.1:20  100     mark  -      -        test\n"
            "marked gray, and not there: 127.0.0.1:3\n");
}

TEST_F(MarpcctlTest, MarksComeAndGo) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  const auto marks = [&](size_t number) {
    return recorder.WaitFor([&](auto& s) { return s.gray_marks.size() == number; }) != nullptr;
  };
  EXPECT_THAT(RunHere("gray demo.HelloService add 127.0.0.1:1").text,
              HasSubstr("127.0.0.1:1 of demo.HelloService is marked gray"));
  EXPECT_EQ(RunHere("gray demo.HelloService add 127.0.0.1:2").code, 0);
  EXPECT_TRUE(marks(2));
  EXPECT_EQ(RunHere("gray demo.HelloService remove 127.0.0.1:1").code, 0);
  EXPECT_TRUE(marks(1));
  EXPECT_EQ(RunHere("gray demo.HelloService clear").code, 0);
  EXPECT_TRUE(marks(0));
}

TEST_F(MarpcctlTest, DirectivesReachConsumersAndAreShown) {
  auto registry = Open();
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  EXPECT_EQ(RunHere("level demo.HelloService degraded").code, 0);
  // However the endpoint is written.
  EXPECT_THAT(RunHere("breaker demo.HelloService@127.0.0.1:01 FORCED_OPEN").text,
              HasSubstr("all consumers are told: breaker demo.HelloService@127.0.0.1:1 is"));
  EXPECT_NE(recorder.WaitFor([](auto& s) {
    return s.directives == Directives{{"level", "degraded"},
                                      {"breaker:demo.HelloService@127.0.0.1:1", "FORCED_OPEN"}};
  }),
            nullptr);
  EXPECT_EQ(RunHere("directives demo.HelloService").text,
            "breaker:demo.HelloService@127.0.0.1:1 = FORCED_OPEN\nlevel = degraded\n");
  EXPECT_EQ(RunHere("breaker demo.HelloService@127.0.0.1:01 CLOSED").code, 0);
  EXPECT_EQ(RunHere("level demo.HelloService clear").code, 0);
  EXPECT_NE(recorder.WaitFor([](auto& s) { return s.directives.empty(); }), nullptr);
  EXPECT_THAT(RunHere("directives demo.HelloService").text, HasSubstr("has no directives"));
}

TEST_F(MarpcctlTest, AServiceThatIsNotThereIsNoted) {
  const Ran ran = RunHere("level demo.HelloServices degraded");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.text, HasSubstr("demo.HelloServices has no instance in this registry"));
  EXPECT_THAT(RunHere("instances demo.HelloServices").text, HasSubstr("has no instance"));
}

TEST_F(MarpcctlTest, TheRegistryMayComeFromTheFileOfAProcess) {
  const std::string file = temporary_ / "process.yaml";
  std::ofstream(file) << "marpc:\n  env: prod\n  registry: {address: 'file:" << folder_ << "'}\n";
  EXPECT_EQ(Run(absl::StrCat("--config ", file, " level demo.HelloService core-only")).code, 0);
  auto registry = Open("prod");
  Recorder recorder;
  auto subscription = registry->Subscribe(kService, recorder.listener());
  EXPECT_NE(recorder.WaitFor([](auto& s) { return s.directives.size() == 1; }), nullptr);
  // What is typed wins.
  EXPECT_THAT(Run(absl::StrCat("--config ", file, " --env=test directives demo.HelloService")).text,
              AllOf(HasSubstr("has no directives"), HasSubstr("env test")));
}

TEST_F(MarpcctlTest, WhatIsNotUnderstoodIsAnsweredWithWhatIs) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "which command?"},
      {"instancs demo.S", "did you mean 'instances'?"},
      {"instances", "usage: marpcctl instances SERVICE"},
      {"level demo.S degradde", "did you mean 'degraded'?"},
      {"level demo.S", "usage: marpcctl level SERVICE"},
      {"breaker demo.S OPEN", "FORCED_OPEN"},
      {"breaker demo.S forced_open", "'forced_open' is unknown"},
      {"breaker demo.S@nowhere DISABLED", "nowhere"},
      {"breaker demo.S/ DISABLED", "names no method"},
      {"breaker demo.S/@10.0.0.1:1 DISABLED", "names no method"},
      {"breaker 'demo S' DISABLED", "names no service"},
      {"gray demo.S ad 10.0.0.1:1", "did you mean 'add'?"},
      {"gray demo.S add", "needs an endpoint"},
      {"gray demo.S add 10.0.0.1", "the port is missing"},
      {"gray demo.S clear 10.0.0.1:1", "clear takes no endpoint"},
      {"--regisrty file:/x instances demo.S", "did you mean '--registry'?"},
      {"instances demo.S --env", "--env needs a value"},
      {"instances 'demo S'", "names no service"},
      {"directives demo/S", "names no service"},
      {"level 'demo S' clear", "names no service"},
      {"gray 'demo S' clear", "names no service"},
      {"breaker $(printf 'demo.S/\\377') DISABLED", "is not UTF-8"},
      {"breaker $(printf 'demo.S/\\377') CLOSED", "is not UTF-8"},
      {"--help=1", "--help takes no value"},
  };
  for (const auto& [arguments, expected] : cases) {
    const Ran ran = RunHere(arguments);
    EXPECT_EQ(ran.code, 2) << arguments << "\n" << ran.text;
    EXPECT_THAT(ran.text, AllOf(StartsWith("marpcctl: "), HasSubstr(expected))) << arguments;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_)) << "nothing was begun";
}

TEST_F(MarpcctlTest, WithoutARegistryThatOthersSeeNothingIsDone) {
  Ran ran = Run("instances demo.S");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.text, HasSubstr("--registry zookeeper://host:port"));
  ran = Run("--registry memory:x instances demo.S");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.text, HasSubstr("of one process alone"));
  ran = Run("--registry zokeeper://a:1 instances demo.S");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.text, HasSubstr("known: zookeeper, file"));
  ran = Run(absl::StrCat("--config ", temporary_ / "nowhere.yaml", " instances demo.S"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.text, HasSubstr("nowhere.yaml"));
}

TEST_F(MarpcctlTest, LookingMakesNoFolders) {
  for (const char* command : {"instances demo.S", "directives demo.S"}) {
    const Ran ran = RunHere(command);
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.text, AllOf(HasSubstr("demo.S has no "), HasSubstr("there is no folder ")));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(MarpcctlTest, DirectivesThatCannotBeReadAreNotNone) {
  std::filesystem::create_directories(folder_ + "/dev/demo.S");
  std::ofstream(folder_ + "/dev/demo.S/directives") << "{no";
  const Ran ran = RunHere("directives demo.S");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.text, HasSubstr("marpcctl: the directives cannot be read: "));
}

TEST_F(MarpcctlTest, WhatATerminalWouldObeyIsEscaped) {
  auto registry = Open();
  Instance instance = MakeInstance("127.0.0.1:1");
  instance.zone = "\x1b[2J";
  instance.app =
      "\xc2\x9b"
      "2J";
  instance.version = "gr\xc3\xbcn";
  auto lease = registry->Register(kService, instance);
  ASSERT_TRUE(Eventually([&] { return (*lease)->registered(); }));
  const Ran ran = RunHere("instances demo.HelloService");
  EXPECT_THAT(ran.text,
              AllOf(HasSubstr("'\\x1b[2J'"), HasSubstr("'\\xc2\\x9b"), HasSubstr("gr\xc3\xbcn")));
  EXPECT_EQ(ran.text.find('\x1b'), std::string::npos);
}

TEST_F(MarpcctlTest, APasswordInTheAddressIsNotRepeated) {
  for (const char* address :
       {"zookeeper://user:hunter2@a:1", "zookeeper://user:hunter2,x@a:1/b",
        "zookeeper://user:hunter2/x@a:1", "zokeeper://user:hunter2@a:1", "user:hunter2@a:1"}) {
    const Ran ran = Run(absl::StrCat("--registry ", address, " instances demo.S"));
    EXPECT_EQ(ran.code, 2) << address;
    EXPECT_EQ(ran.text.find("hunter2"), std::string::npos) << ran.text;
    const std::string file = temporary_ / "process.yaml";
    std::ofstream(file) << "marpc: {registry: {address: '" << address << "'}}\n";
    const Ran by_file = Run(absl::StrCat("--config ", file, " instances demo.S"));
    EXPECT_EQ(by_file.code, 2) << address;
    EXPECT_EQ(by_file.text.find("hunter2"), std::string::npos) << by_file.text;
  }
}

TEST_F(MarpcctlTest, WhatTheRegistryRefusesIsAFailure) {
  const std::string file = temporary_ / "process.yaml";
  std::ofstream(file) << "marpc: {registry: {connectTimeout: 50ms, address: 'file:"
                      << temporary_ / "no/such/folder"
                      << "'}}\n";
  const Ran ran = Run(absl::StrCat("--config ", file, " level demo.S normal"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.text, HasSubstr("marpcctl: registry file:"));
}

}  // namespace
}  // namespace marpc
