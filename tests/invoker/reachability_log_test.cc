// What a consumer's log says of instances that give no answer.
#include <memory>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/observe/log.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using testing::Answer;
using ::testing::HasSubstr;
using testing::LostRequest;
using testing::SimulatedService;

class ReachabilityLogTest : public ::testing::Test {
 protected:
  ReachabilityLogTest() {
    SetLogger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  ~ReachabilityLogTest() override { SetLogger(nullptr); }

  int Lines(const std::string& event) const {
    int lines = 0;
    const std::string text = log_.str();
    const std::string wanted = absl::StrCat("event=", event, " ");
    for (size_t at = 0; (at = text.find(wanted, at)) != std::string::npos; ++at) ++lines;
    return lines;
  }

  std::ostringstream log_;
};

TEST_F(ReachabilityLogTest, AnInstanceThatGivesNoAnswerIsNamedOnceAndAgainWhenItIsBack) {
  SimulatedService::Options options;
  options.name = "test.Reachability";
  options.instances = {"a"};
  SimulatedService service(std::move(options));
  const auto lost = [](const std::string&, const Step&) { return LostRequest(); };
  const auto answered = [](const std::string&, const Step&) { return Answer(); };
  for (int i = 0; i < 3; ++i) service.Call(lost);
  EXPECT_EQ(Lines("unreachable"), 1);
  EXPECT_THAT(log_.str(), HasSubstr("[warning] event=unreachable service=test.Reachability "
                                    "instance=a:1 code=UNAVAILABLE what=\""));
  service.clock().Advance(absl::Seconds(3));
  service.Call(answered);
  EXPECT_THAT(log_.str(),
              HasSubstr("[info] event=reachable service=test.Reachability instance=a:1 after=3s"));
  // One that comes and goes does not flood the log.
  for (int i = 0; i < 5; ++i) {
    service.Call(lost);
    service.Call(answered);
  }
  EXPECT_EQ(Lines("unreachable"), 1);
  service.clock().Advance(absl::Seconds(10));
  service.Call(lost);
  EXPECT_EQ(Lines("unreachable"), 2);
}

}  // namespace
}  // namespace marpc
