// Alerts that are given to a command.
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/alert/alerts_fixture.h"
#include "tests/provider/gate.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/without_system_call.h"

namespace marpc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CommandTest : public AlertsTest {
 protected:
  Alerts::Counters AfterOne() {
    return After([](Alerts& alerts) { alerts.Tell(kOpen); });
  }

  TemporaryFolder folder_;
};

// Ignored by the program for as long as this lives.
class Ignored {
 public:
  explicit Ignored(int number) : number_(number), before_(signal(number, SIG_IGN)) {}
  ~Ignored() { signal(number_, before_); }

 private:
  const int number_;
  const sighandler_t before_;
};

TEST_F(CommandTest, GetsTheAlertOnItsInputAndNoShell) {
  const std::string path = folder_ / "told; exit 1";
  settings_.command = {"dd", "status=none", absl::StrCat("of=", path)};
  EXPECT_EQ(AfterOne().sent, 1u);
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["subject"], "demo.HelloService");
}

TEST_F(CommandTest, WhatBecomesOfOneThatFailsHangsOrIsNotThereIsLogged) {
  settings_.timeout = absl::Seconds(30);
  settings_.command = {"false"};
  EXPECT_EQ(AfterOne().failed, 1u);
  EXPECT_THAT(log_.str(), HasSubstr("to=\"command false\" what=\"ended with 1\""));
  settings_.command = {"/no/such/command"};
  EXPECT_EQ(AfterOne().failed, 1u);
  EXPECT_THAT(log_.str(), HasSubstr("cannot be run: No such file"));
  settings_.command = {"sleep", "3600"};
  settings_.timeout = absl::Milliseconds(20);
  EXPECT_EQ(AfterOne().failed, 1u);
  EXPECT_THAT(log_.str(), HasSubstr("killed, since it took too long"));
}

TEST_F(CommandTest, AClosedConsumerWaitsForNone) {
  const std::string path = folder_ / "begun";
  settings_.timeout = absl::Hours(1);
  settings_.command = {"sh", "-c", absl::StrCat("touch '", path, "'; exec sleep 3600")};
  auto alerts = Make();
  alerts->Tell(kOpen);
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(path); }));
  alerts->Close(absl::ZeroDuration());
  EXPECT_EQ(alerts->counters().failed, 1u);
  EXPECT_THAT(log_.str(), HasSubstr("killed, since the consumer was closed"));
}

TEST_F(CommandTest, OneThatHasLeftItsGroupIsNotWaitedForEither) {
  const std::string path = folder_ / "begun";
  settings_.timeout = absl::Hours(1);
  settings_.command = {"perl", "-e",
                       "setpgrp(0, getpgrp(getppid())); open(F, '>', shift); sleep 3600", path};
  auto alerts = Make();
  alerts->Tell(kOpen);
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(path); }));
  alerts->Close(absl::ZeroDuration());
  EXPECT_THAT(log_.str(), HasSubstr("killed, since the consumer was closed"));
}

TEST_F(CommandTest, HasNoneOfTheProgramsDescriptors) {
  const int open_for_all = open("/dev/null", O_RDONLY);  // not closed on exec
  ASSERT_EQ(dup2(open_for_all, 200), 200);
  const std::string path = folder_ / "descriptors";
  settings_.command = {"sh", "-c", absl::StrCat("ls /proc/self/fd > '", path, "'")};
  EXPECT_EQ(AfterOne().sent, 1u);
  close(200);
  close(open_for_all);
  std::ifstream file(path);
  std::vector<int> descriptors;
  for (int one; file >> one;) descriptors.push_back(one);
  EXPECT_THAT(descriptors, ::testing::ElementsAre(0, 1, 2, 3)) << "3 is what ls reads";
}

TEST_F(CommandTest, IsNotBegunAfterAnAbort) {
  const std::string path = folder_ / "begun";
  const auto sink = MakeCommandSink({"touch", path}, absl::Hours(1));
  sink->Abort();
  EXPECT_EQ(sink->Send("{}"), absl::CancelledError("not sent, since the consumer was closed"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

// The system reaps children then, and nobody learns how they ended.
TEST_F(CommandTest, InAProgramThatIgnoresItsChildrenItCountsAsSent) {
  const Ignored children(SIGCHLD);
  settings_.timeout = absl::Hours(1);
  const std::string path = folder_ / "told";
  for (const std::string after : {"true", "exit 1"}) {
    settings_.command = {"sh", "-c", absl::StrCat("cat > '", path, "'; ", after)};
    EXPECT_EQ(AfterOne().sent, 1u);
    EXPECT_GT(std::filesystem::file_size(path), 0u) << "it was waited for";
    std::filesystem::remove(path);
  }
  EXPECT_THAT(log_.str(), Not(HasSubstr("event=alert_not_sent")));
}

TEST_F(CommandTest, HasTheUsualSignalsWhateverTheProgramIgnores) {
  const Ignored pipe(SIGPIPE), children(SIGCHLD);
  const std::string path = folder_ / "status";
  settings_.command = {"dd", "status=none", "if=/proc/self/status", absl::StrCat("of=", path)};
  ASSERT_EQ(AfterOne().sent, 1u);
  std::ifstream file(path);
  std::string word;
  while (file >> word && word != "SigIgn:") continue;
  uint64_t ignored = 0;
  ASSERT_TRUE(file >> std::hex >> ignored);
  for (const int number : {SIGPIPE, SIGCHLD}) {
    EXPECT_EQ(ignored >> (number - 1) & 1, 0u) << strsignal(number);
  }
}

TEST_F(CommandTest, IsWaitedForWhereTheSystemDoesNotTellOfItsEnd) {
  const bool ran = RunWithoutSystemCall(SYS_pidfd_open, [&] {
    settings_.timeout = absl::Hours(1);
    settings_.command = {"true"};
    EXPECT_EQ(AfterOne().sent, 1u);
    settings_.command = {"false"};
    EXPECT_EQ(AfterOne().failed, 1u);
    EXPECT_THAT(log_.str(), HasSubstr("ended with 1"));
    settings_.command = {"sleep", "3600"};
    auto alerts = Make();
    alerts->Tell(kOpen);
    alerts->Close(absl::ZeroDuration());
    EXPECT_EQ(alerts->counters().sent, 0u);
    settings_.timeout = absl::Milliseconds(20);
    EXPECT_EQ(AfterOne().failed, 1u);
    EXPECT_THAT(log_.str(), HasSubstr("killed, since it took too long"));
  });
  if (!ran) GTEST_SKIP() << "no filter for system calls here";
}

}  // namespace
}  // namespace marpc::testing
