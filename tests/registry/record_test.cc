#include "marpc/registry/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/registry/registry_fixture.h"

namespace marpc {
namespace {

using ::testing::HasSubstr;

TEST(RecordTest, AnInstanceComesBackAsItWas) {
  Instance instance = MakeInstance("[::1]:8080");
  instance.app = "app";
  instance.zone = "z1";
  instance.version = "1.2.3";
  instance.group = "g";
  instance.tags = {"a", "b"};
  instance.gray = true;
  instance.weight = 0;
  instance.metadata = {{"k", "v"}, {"键", "值"}};
  instance.owner = "me";
  auto json = RecordToJson(ToRecord(kService, instance, 1234));
  ASSERT_TRUE(json.ok());
  auto back = ParseEntry(kService, EncodeName("[::1]:8080"), *json);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, instance);
}

TEST(RecordTest, WhatIsLeftOutHasItsDefault) {
  auto instance = ParseEntry(kService, "h:1", R"({"endpoint": "h:1"})");
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->weight, Instance::kDefaultWeight);
  EXPECT_FALSE(instance->gray);
}

// It is there, and takes calls: consumers take the default for what is no weight.
// Protobuf's maps, which Debian builds without TSan, do not work under it; an entry that cannot be
// read goes through one.
#ifdef __SANITIZE_THREAD__
constexpr bool kMapsWork = false;
#else
constexpr bool kMapsWork = true;
#endif

TEST(RecordTest, AWeightThatMakesNoSenseIsNoReasonToLoseTheInstance) {
  if (!kMapsWork) GTEST_SKIP() << "TSan";
  for (const char* weight :
       {"-1", "4000000000", "1000001", "1e300", "0.5", R"("NaN")", R"("much")", "[]", "true"}) {
    auto instance = ParseEntry(
        kService, "h:1",
        absl::StrCat(R"({"endpoint": "h:1", "zone": "z", "future": 1, "weight": )", weight, "}"));
    ASSERT_TRUE(instance.ok()) << weight << ": " << instance.status();
    EXPECT_LT(instance->weight, 0) << weight;
    EXPECT_EQ(instance->zone, "z");
    auto json = RecordToJson(ToRecord(kService, *instance, 0));
    ASSERT_TRUE(json.ok()) << json.status();
    auto again = ParseEntry(kService, "h:1", *json);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *instance) << "a snapshot on disk keeps it so";
  }
  EXPECT_EQ(ParseEntry(kService, "h:1", R"({"endpoint": "h:1", "weight": 1000000})")->weight,
            1000000);
}

TEST(RecordTest, FieldsOfANewerVersionAreIgnored) {
  EXPECT_TRUE(ParseEntry(kService, "h:1", R"({"endpoint": "h:1", "future": {"x": [1]}})").ok());
}

TEST(RecordTest, GarbageIsRefusedWithItsReason) {
  if (!kMapsWork) GTEST_SKIP() << "TSan";
  const struct {
    std::string name, json, why;
  } cases[] = {
      {"h:1", "", "not JSON"},
      {"h:1", "{", "not JSON"},
      {"h:1", std::string("\0\xff", 2), "not JSON"},
      {"h:1", "[1, 2]", "not JSON"},
      {"h:1", R"({"endpoint": 7})", "not JSON"},
      {"h:1", "{}", "the port is missing"},
      {"h:1", R"({"endpoint": 7, "weight": -1})", "not JSON"},
      {"h:1", R"({"endpoint": "h:2"})", "not of that in its name"},
      {"h:1", R"({"endpoint": "h:1", "service": "other.S"})", "of service 'other.S'"},
      {"h", R"({"endpoint": "h:1"})", "the port is missing"},
      {"h%2", R"({"endpoint": "h:1"})", "hexadecimal"},
      {"h:1", std::string(1 << 20, 'x'), "the limit is"},
      {"h:1", std::string(100'000, '['), "not JSON"},
  };
  for (const auto& c : cases) {
    auto instance = ParseEntry(kService, c.name, c.json);
    ASSERT_FALSE(instance.ok()) << c.json.substr(0, 100);
    EXPECT_EQ(instance.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(instance.status().message(), HasSubstr(c.why)) << c.json.substr(0, 100);
  }
}

TEST(RecordTest, NamesHoldAnyEndpoint) {
  for (const char* text : {"127.0.0.1:1", "[fe80::1%eth0]:9", "unix:/tmp/a b%/c", "unix:/é"}) {
    const std::string name = EncodeName(text);
    EXPECT_EQ(name.find('/'), std::string::npos) << name;
    auto back = DecodeName(name);
    ASSERT_TRUE(back.ok()) << name;
    EXPECT_EQ(*back, text);
  }
  EXPECT_EQ(EncodeName("127.0.0.1:1"), "127.0.0.1:1");
  EXPECT_EQ(EncodeName("unix:/a"), "unix:%2Fa");
  EXPECT_EQ(EncodeName(".hidden"), "%2Ehidden");
}

TEST(RecordTest, ServiceNamesAreOnePathComponent) {
  EXPECT_TRUE(CheckServiceName("demo.HelloService").ok());
  for (const char* bad : {"", ".", "..", ".hidden", "a/b", "a b", "a%b", "é"}) {
    EXPECT_FALSE(CheckServiceName(bad).ok()) << bad;
  }
}

TEST(RecordTest, NoTwoOwnersAreEqual) { EXPECT_NE(NewOwner(), NewOwner()); }

}  // namespace
}  // namespace marpc
