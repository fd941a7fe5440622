#include "marpc/base/method.h"

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace marpc {
namespace {

TEST(InternMethod, GivesOneObjectAMethod) {
  const Method& method = InternMethod({.service = "intern.A", .name = "Get", .idempotent = true});
  EXPECT_EQ(method.service, "intern.A");
  EXPECT_EQ(method.name, "Get");
  EXPECT_EQ(method.full_name, "intern.A/Get");
  EXPECT_EQ(method.path, "/intern.A/Get");
  EXPECT_EQ(&InternMethod({.service = "intern.A", .name = "Get"}), &method);
  EXPECT_TRUE(method.idempotent) << "the first spec holds";
  EXPECT_EQ(InternMethodByPath("/intern.A/Get"), &method);
}

TEST(InternMethod, NumbersTheMethodsOfAService) {
  EXPECT_EQ(InternMethod({.service = "intern.B", .name = "One"}).ordinal, 0);
  EXPECT_EQ(InternMethod({.service = "intern.B", .name = "Two"}).ordinal, 1);
  EXPECT_EQ(InternMethod({.service = "intern.C", .name = "Two"}).ordinal, 0);
  EXPECT_EQ(InternMethod({.service = "intern.B", .name = "One"}).ordinal, 0);
}

TEST(InternMethod, KeepsItsAddressWhileOthersCome) {
  const Method* first = &InternMethod({.service = "intern.Many", .name = "M0"});
  for (int i = 1; i < 1'000; ++i)
    InternMethod({.service = "intern.Many", .name = "M" + std::to_string(i)});
  EXPECT_EQ(&InternMethod({.service = "intern.Many", .name = "M0"}), first);
  EXPECT_EQ(first->path, "/intern.Many/M0");
}

TEST(InternMethod, GivesManyThreadsTheSameObject) {
  std::vector<const Method*> found(8);
  std::vector<std::thread> threads;
  for (const Method*& slot : found) {
    threads.emplace_back([&slot] { slot = InternMethodByPath("/intern.Raced/Get"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Method* method : found) EXPECT_EQ(method, found[0]);
}

TEST(InternMethodByPath, KnowsNothingMoreOfAMethodWithoutDescriptors) {
  const Method* method = InternMethodByPath("/intern.Unknown/Get");
  ASSERT_NE(method, nullptr);
  EXPECT_FALSE(method->idempotent);
  EXPECT_EQ(method->request_prototype, nullptr);
}

TEST(InternMethodByPath, RefusesWhatIsNoPath) {
  for (const char* path : {"", "/", "//", "a/b", "/a", "/a/", "//b", "/a/b/c", "/a//b"}) {
    EXPECT_EQ(InternMethodByPath(path), nullptr) << path;
  }
}

TEST(FindMethod, InternsNothingOfWhatNobodyKnows) {
  EXPECT_EQ(FindMethod("/find.Lite/Get"), nullptr);
  EXPECT_EQ(FindMethod("no path"), nullptr);
  EXPECT_TRUE(InternedMethods("find.Lite").empty());
  const Method& method = InternMethod({.service = "find.Lite", .name = "Get", .idempotent = true});
  EXPECT_TRUE(method.idempotent);
  EXPECT_EQ(FindMethod("/find.Lite/Get"), &method);
  EXPECT_EQ(FindMethod("/find.Lite/Put"), nullptr);
}

}  // namespace
}  // namespace marpc
