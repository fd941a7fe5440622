#include "marpc/registry/directives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace marpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kService[] = "demo.HelloService";

TEST(DirectivesTest, ADocumentComesBackAsItWas) {
  const Directives directives = {{"level", "degraded"},
                                 {"breaker:demo.HelloService@unix:/tmp/\u00fc", "FORCED_OPEN"},
                                 {"of tomorrow", "{\"quoted\"}"}};
  const auto json = DirectivesToJson(directives);
  ASSERT_TRUE(json.ok()) << json.status();
  const auto read = ParseDirectives(*json);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, directives);
}

TEST(DirectivesTest, ADocumentMayBeWrittenByHand) {
  const auto read = ParseDirectives(
      "{\n \"directives\": {\"level\": \"core-only\", \"emptied\": \"\"},\n \"since\": 3 }\n");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, (Directives{{"level", "core-only"}}));
  EXPECT_THAT(*ParseDirectives(""), IsEmpty());
}

TEST(DirectivesTest, WhatIsNoDocumentIsRefused) {
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string("{\"directives\": {\"level\": 3.5}"),
        std::string("\xff\x00{", 3), std::string(kMaxDirectivesBytes + 1, ' ')}) {
    EXPECT_EQ(ParseDirectives(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text.substr(0, 50);
  }
}

TEST(DirectivesTest, MoreThanFitsIsRefused) {
  Directives directives;
  for (int i = 0; i < 1000; ++i) {
    directives["breaker:" + std::to_string(i) + std::string(100, 'x')] = "DISABLED";
  }
  EXPECT_THAT(DirectivesToJson(directives).status().message(), HasSubstr("the limit is 65536"));
}

TEST(DirectivesTest, WhatNoRegistryCanHoldIsRefused) {
  EXPECT_TRUE(CheckDirective("level", "normal").ok());
  EXPECT_TRUE(CheckDirective("level", "").ok());
  EXPECT_THAT(CheckDirective("", "normal").message(), HasSubstr("needs a key"));
  EXPECT_THAT(CheckDirective("a\nb", "x").message(), HasSubstr("control characters"));
  EXPECT_THAT(CheckDirective("level", "\xff\xfe").message(), HasSubstr("UTF-8"));
  EXPECT_THAT(CheckDirective("\xff\xfe", "").message(), HasSubstr("UTF-8"));
  EXPECT_THAT(CheckDirective("level", std::string(2000, 'x')).message(), HasSubstr("1024"));
}

TEST(DirectivesTest, ApplyingSaysWhetherAnythingChanged) {
  Directives directives;
  EXPECT_TRUE(ApplyDirective(directives, "level", "degraded"));
  EXPECT_FALSE(ApplyDirective(directives, "level", "degraded"));
  EXPECT_TRUE(ApplyDirective(directives, "level", "normal"));
  EXPECT_FALSE(ApplyDirective(directives, "other", ""));
  EXPECT_TRUE(ApplyDirective(directives, "level", ""));
  EXPECT_THAT(directives, IsEmpty());
}

TEST(DirectivesTest, WhatConsumersUnderstand) {
  for (const char* level : {"normal", "degraded", "core-only"}) {
    EXPECT_TRUE(CheckUnderstood(kService, "level", level).ok()) << level;
  }
  for (const char* name : {"demo.HelloService", "demo.HelloService/Hello",
                           "demo.HelloService@[::1]:80", "demo.HelloService/Hello@unix:/a"}) {
    for (const char* state : {"FORCED_OPEN", "DISABLED", "METRICS_ONLY"}) {
      EXPECT_TRUE(CheckUnderstood(kService, std::string("breaker:") + name, state).ok()) << name;
    }
  }
}

TEST(DirectivesTest, WhatTheyDoNotIsAnsweredWithWhatTheyDo) {
  EXPECT_THAT(CheckUnderstood(kService, "level", "degradde").message(),
              HasSubstr("did you mean 'degraded'?"));
  EXPECT_THAT(CheckUnderstood(kService, "level", "off").message(),
              HasSubstr("known: core-only, degraded, normal"));
  EXPECT_THAT(
      CheckUnderstood(kService, "weight", "3").message(),
      AllOf(HasSubstr("'weight' is unknown"), HasSubstr("level, breaker:demo.HelloService")));
  EXPECT_THAT(CheckUnderstood(kService, "breaker:demo.HelloService", "OPEN").message(),
              HasSubstr("FORCED_OPEN"));
  EXPECT_THAT(CheckUnderstood(kService, "breaker:demo.HelloServices", "DISABLED").message(),
              HasSubstr("is none of demo.HelloService"));
}

}  // namespace
}  // namespace marpc
