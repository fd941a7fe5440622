#include "marpc/degradation/degradation_levels.h"

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/degradation/degradation.h"
#include "marpc/observe/log.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/sinks/ostream_sink.h"

namespace marpc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Level = DegradationLevel;
using Importance = MethodImportance;

TEST(DegradationTest, EachLevelLeavesTheLessImportantOut) {
  const std::pair<Level, std::string> made[] = {
      {Level::kNormal, "core normal optional "},
      {Level::kDegraded, "core normal "},
      {Level::kCoreOnly, "core "},
  };
  for (const auto& [level, expected] : made) {
    std::string seen;
    for (const auto& [name, importance] : kMethodImportances) {
      if (IsMade(level, importance)) seen += std::string(name) + " ";
    }
    EXPECT_EQ(seen, expected) << DegradationLevelName(level);
  }
}

TEST(DegradationTest, ALevelIsReadByTheNameThatItIsShownBy) {
  for (const auto& [name, level] : kDegradationLevels) {
    EXPECT_EQ(DegradationLevelName(level), name);
    EXPECT_EQ(DegradationLevelOf(name), level);
  }
  EXPECT_EQ(DegradationLevelOf("core only"), std::nullopt);
  EXPECT_EQ(DegradationLevelOf(""), std::nullopt);
}

TEST(DegradationTest, WhoIsLeftOutIsToldOfLevelMethodImportanceAndTheWayOut) {
  Method method;
  method.service = "shop.Shop";
  method.full_name = "shop.Shop/Advise";
  DegradationSettings settings;
  settings.importance = Importance::kOptional;
  EXPECT_EQ(WhyNotMade(method, settings, Level::kDegraded),
            "shop.Shop/Advise is not called for now: shop.Shop is at the level degraded, and the "
            "importance of this method is optional; please try again in 30s, or when the level is "
            "normal again (Consumer::SetDegradation)");
  settings.importance = Importance::kNormal;
  settings.retry_after = absl::ZeroDuration();
  EXPECT_EQ(WhyNotMade(method, settings, Level::kCoreOnly),
            "shop.Shop/Advise is not called for now: shop.Shop is at the level core-only, and the "
            "importance of this method is normal; please try again when the level is degraded or "
            "normal again (Consumer::SetDegradation)");
}

class DegradationLevelsTest : public ::testing::Test {
 protected:
  DegradationLevelsTest() {
    SetLogger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  ~DegradationLevelsTest() override { SetLogger(nullptr); }
  std::string Logged() {
    std::string text = log_.str();
    log_.str("");
    return text;
  }

  std::ostringstream log_;
  DegradationLevels levels_{[](absl::string_view service) {
    return service == "a.Sick" ? Level::kDegraded : Level::kNormal;
  }};
};

TEST_F(DegradationLevelsTest, AServiceBeginsAtTheLevelOfItsSettings) {
  EXPECT_EQ(levels_.Of("a.Sick"), Level::kDegraded);
  EXPECT_EQ(levels_.SwitchOf("a.Sick")->level(), Level::kDegraded);
  EXPECT_THAT(Logged(), HasSubstr("event=degradation service=a.Sick from=normal to=degraded"));
  EXPECT_EQ(levels_.Of("a.Well"), Level::kNormal);
  EXPECT_EQ(levels_.SwitchOf("a.Well")->level(), Level::kNormal);
  EXPECT_EQ(Logged(), "");
}

TEST_F(DegradationLevelsTest, AWordOnOneServiceReachesItsCallsAndNoOthers) {
  const auto one = levels_.SwitchOf("a.One");
  const auto other = levels_.SwitchOf("a.Other");
  levels_.Set("a.One", Level::kCoreOnly);
  EXPECT_EQ(one->level(), Level::kCoreOnly);
  EXPECT_EQ(levels_.Of("a.One"), Level::kCoreOnly);
  EXPECT_EQ(other->level(), Level::kNormal);
  EXPECT_THAT(Logged(), HasSubstr("event=degradation service=a.One from=normal to=core-only"));
  levels_.Set("a.One", Level::kCoreOnly);
  EXPECT_EQ(Logged(), "") << "nothing has changed";
}

TEST_F(DegradationLevelsTest, TheLastWordHolds) {
  const auto one = levels_.SwitchOf("a.One");
  levels_.Set("a.One", Level::kCoreOnly);
  levels_.Set(Level::kDegraded);
  EXPECT_EQ(one->level(), Level::kDegraded);
  levels_.Set("a.One", Level::kNormal);
  EXPECT_EQ(one->level(), Level::kNormal);
  EXPECT_EQ(levels_.Of("a.Other"), Level::kDegraded);
}

TEST_F(DegradationLevelsTest, AWordOnAllHoldsForServicesThatAreCalledLater) {
  levels_.Set(Level::kNormal);
  EXPECT_THAT(Logged(), HasSubstr("event=degradation service=all to=normal"));
  EXPECT_EQ(levels_.SwitchOf("a.Sick")->level(), Level::kNormal) << "whatever its settings say";
  levels_.Set(Level::kCoreOnly);
  EXPECT_EQ(levels_.SwitchOf("a.New")->level(), Level::kCoreOnly);
  EXPECT_THAT(Logged(), Not(HasSubstr("service=a.New to")));
}

TEST_F(DegradationLevelsTest, ALogMayAskForLevelsWhileOneChanges) {
  struct Asking final : spdlog::sinks::base_sink<spdlog::details::null_mutex> {
    explicit Asking(DegradationLevels& levels) : levels(levels) {}
    void sink_it_(const spdlog::details::log_msg&) override { seen.push_back(levels.Of("a.Sick")); }
    void flush_() override {}
    DegradationLevels& levels;
    std::vector<Level> seen;
  };
  const auto sink = std::make_shared<Asking>(levels_);
  SetLogger(std::make_shared<spdlog::logger>("asks", sink));
  levels_.SwitchOf("a.Sick");
  levels_.Set("a.Sick", Level::kCoreOnly);
  levels_.Set(Level::kNormal);
  EXPECT_THAT(sink->seen, ::testing::ElementsAre(Level::kDegraded, Level::kCoreOnly, Level::kNormal,
                                                 Level::kNormal));
}

TEST_F(DegradationLevelsTest, AWordBeforeTheFirstCallIsNotLost) {
  levels_.Set("a.New", Level::kDegraded);
  EXPECT_EQ(levels_.SwitchOf("a.New")->level(), Level::kDegraded);
}

}  // namespace
}  // namespace marpc
