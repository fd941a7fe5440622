// Files that were not written by a friend: a clear refusal, in bounded time and stack.
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/config/load.h"

namespace marpc {
namespace {

using testing::HasSubstr;

std::string Refusal(const std::string& yaml) {
  const absl::StatusOr<Settings> settings = ParseSettings(yaml, "h.yaml");
  EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(settings.status().message());
}

std::string Repeat(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

TEST(HostileFile, BinaryIsRefusedByItsLine) {
  EXPECT_THAT(Refusal(std::string("marpc:\n  app: a\0b\n", 17)),
              HasSubstr("h.yaml:2:1: not UTF-8 text"));
  EXPECT_THAT(Refusal("marpc:\n  app: \xe9\n"), HasSubstr("h.yaml:2:1: not UTF-8 text"));
  EXPECT_THAT(Refusal("\x1b[31m"), HasSubstr("not UTF-8 text"));
  EXPECT_THAT(Refusal("\xed\xa0\x80"), HasSubstr("not UTF-8 text")) << "a lone surrogate";
  EXPECT_THAT(Refusal("\xc0\xaf"), HasSubstr("not UTF-8 text")) << "an overlong form";
  EXPECT_THAT(Refusal("\xf4\x90\x80\x80"), HasSubstr("not UTF-8 text")) << "beyond Unicode";
  EXPECT_TRUE(ParseSettings("marpc: {provider: {zone: \u4e2d\u6587 \U0001F600}}", "h.yaml").ok());
}

TEST(HostileFile, TooLargeAFileIsNotRead) {
  EXPECT_THAT(Refusal("marpc:\n" + Repeat("# a comment\n", 100'000)),
              HasSubstr("is larger than 1 MiB"));
  EXPECT_THAT(std::string(LoadSettings("/dev/zero").status().message()),
              HasSubstr("is larger than 1 MiB"));
}

TEST(HostileFile, DeepNestingIsRefused) {
  EXPECT_THAT(Refusal("marpc: " + Repeat("[", 100'000)),
              HasSubstr("nested more than 32 levels deep"));
  EXPECT_THAT(Refusal("marpc: " + Repeat("{a: ", 100'000)),
              HasSubstr("nested more than 32 levels deep"));
  EXPECT_THAT(Refusal(Repeat("- ", 100'000)), HasSubstr("nested more than 32 levels deep"));
  EXPECT_THAT(Refusal(Repeat("? ", 100'000)), HasSubstr("nested more than 32 levels deep"));
}

TEST(HostileFile, NestingByAliasesIsRefusedToo) {
  std::string chain = "marpc:\nx-0: &a0 [x]\n";
  for (int i = 1; i < 10'000; ++i)
    absl::StrAppend(&chain, "x-", i, ": &a", i, " [*a", i - 1, "]\n");
  EXPECT_THAT(Refusal(chain), HasSubstr("nested more than 32 levels deep"));
  EXPECT_THAT(Refusal("marpc: &a {retry: *a}\n"),
              HasSubstr("the alias stands inside the value that it repeats"));
}

TEST(HostileFile, ABombOfAliasesIsRefused) {
  std::string bomb = "marpc:\nx-0: &a0 [x, x, x, x]\n";
  for (int i = 1; i < 28; ++i) {
    absl::StrAppend(&bomb, "x-", i, ": &a", i, " [*a", i - 1, ", *a", i - 1, ", *a", i - 1, "]\n");
  }
  EXPECT_THAT(Refusal(bomb), HasSubstr("more than 100000 values, with those that aliases repeat"));
}

TEST(HostileFile, ABombOfMergesIsRefused) {
  std::string map = "x-a: &a {";
  for (int i = 0; i < 1'000; ++i) absl::StrAppend(&map, "k", i, ": 1, ");
  EXPECT_THAT(Refusal(map + "}\nmarpc: {<<: [" + Repeat("*a, ", 10'000) + "]}\n"),
              HasSubstr("more than 100000 values, with those that aliases repeat"));
}

TEST(HostileFile, AFileOfNothingButFaultsIsNotReportedInFull) {
  std::string faults = "marpc:\n";
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&faults, "  unknown", i, ": 1\n");
  const std::string message = Refusal(faults);
  EXPECT_THAT(message, HasSubstr("there are more faults; these are the first 50"));
  EXPECT_LT(message.size(), 20'000);
}

TEST(HostileFile, LongAndOddValuesAreShownShortAndEscaped) {
  const std::string message =
      Refusal("marpc: {retry: {maxRetries: \"" + Repeat("x", 5'000) + "\"}}");
  EXPECT_LT(message.size(), 300);
  EXPECT_THAT(Refusal("marpc: {provider: {zone: \"\\e[31m\"}}"),
              HasSubstr("holds control characters"));
  EXPECT_THAT(Refusal("marpc: {\"\\n\\0\": 1}"), HasSubstr("unknown key '\\n\\x00'"));
}

// Whatever happens to the bytes of a file, loading it ends with settings or a refusal.
TEST(HostileFile, RandomDamageNeverGoesUnanswered) {
  std::ifstream in(std::string(MARPC_SOURCE_DIR) + "/config/consumer.yaml");
  std::stringstream text;
  text << in.rdbuf();
  const std::string good = text.str();
  ASSERT_FALSE(good.empty());
  std::mt19937 random(20240607);
  const std::string odd = "{}[]:,&*!|>'\"%@`#?-\t\n ~<$\\";
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = good;
    for (int i = 0; i < 5; ++i) {
      const size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = odd[random() % odd.size()];
          break;
        case 1:
          damaged.erase(at, 1 + random() % 20);
          break;
        default:
          damaged.insert(at, good.substr(random() % good.size(), 1 + random() % 20));
      }
    }
    const absl::StatusOr<Settings> settings = ParseSettings(damaged, "damaged.yaml");
    if (settings.ok()) continue;
    ++refused;
    EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(settings.status().message()), testing::StartsWith("damaged.yaml:"));
  }
  EXPECT_GT(refused, 0);
}

TEST(Hostile, VariablesMakeNoValueLargerThanAFileMayBe) {
  LoadOptions options;
  options.environment = [](const std::string&) { return std::string(100'000, 'x'); };
  std::string app;
  for (int i = 0; i < 20; ++i) app += "${BIG}";
  const absl::Status status =
      ParseSettings("marpc: {app: '" + app + "'}", "c.yaml", options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("c.yaml:1:"));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("longer than 1048576 bytes"));
}

}  // namespace
}  // namespace marpc
