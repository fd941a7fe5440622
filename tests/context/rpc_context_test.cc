#include "marpc/context/rpc_context.h"

#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

using Metadata = std::vector<std::pair<std::string, std::string>>;

Metadata Encoded(const RpcContext& context) {
  Metadata metadata;
  EncodeContext(context, metadata);
  return metadata;
}

class RoundTrip : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(RoundTrip, ThroughMetadataChangesNothing) {
  RpcContext sent;
  ASSERT_TRUE(sent.Set(GetParam().first, GetParam().second).ok());
  RpcContext received;
  for (const auto& [key, value] : Encoded(sent)) {
    // What gRPC takes as a key.
    EXPECT_THAT(key, testing::MatchesRegex("marpc-ctx-[a-z0-9_.-]+"));
    EXPECT_TRUE(DecodeContextEntry(key, value, received));
  }
  EXPECT_EQ(received.entries(), sent.entries());
}

INSTANTIATE_TEST_SUITE_P(
    RpcContext, RoundTrip,
    testing::Values(std::pair("traceId", "1f"), std::pair("a_b", "1"), std::pair("X_Y", "1"),
                    std::pair("_", "1"), std::pair("__", "1"), std::pair("A", "1"),
                    std::pair("_a", "1"), std::pair("a_", "1"), std::pair("A_", "1"),
                    std::pair("x-Bin", "1"), std::pair("a.b-c", "1"), std::pair("9", ""),
                    std::pair("userId", std::string("\x00\xff\n", 3)),
                    std::pair("name", "\u4e2d\u6587"), std::pair("k", " led and trailed "),
                    std::pair("k", "a:b;c=d")));

TEST(RpcContext, CapitalsAndUnderscoresGoAsTheHeaderSays) {
  RpcContext context;
  ASSERT_TRUE(context.Set("traceId", "1").ok());
  ASSERT_TRUE(context.Set("a_b", "caf\xc3\xa9").ok());
  EXPECT_THAT(Encoded(context), ElementsAre(Pair("marpc-ctx-a__b-bin", "caf\xc3\xa9"),
                                            Pair("marpc-ctx-trace_id", "1")));
}

TEST(RpcContext, KeysThatCannotTravelAreRefused) {
  RpcContext context;
  for (const std::string& key :
       {std::string(), std::string("a b"), std::string("a:b"), std::string("a\0b", 3),
        std::string("\xc3\xa9"), std::string("x-bin"), std::string(101, 'k')}) {
    EXPECT_EQ(context.Set(key, "1").code(), absl::StatusCode::kInvalidArgument) << key;
  }
  EXPECT_TRUE(context.Set(std::string(100, 'k'), "1").ok());
  EXPECT_EQ(context.entries().size(), 1);
}

// What gRPC counts an entry: 32 bytes, the key as it travels, the value.
TEST(RpcContext, HoldsAtMost6KiBAsItTravels) {
  const size_t room = (6 << 10) - 32 - strlen("marpc-ctx-a");
  RpcContext context;
  EXPECT_FALSE(context.Set("a", std::string(room + 1, 'x')).ok());
  ASSERT_TRUE(context.Set("a", std::string(room, 'x')).ok());
  EXPECT_TRUE(context.Set("a", std::string(room, 'y')).ok()) << "what is replaced does not count";
  EXPECT_EQ(context.Set("b", "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(context.Get("b"), std::nullopt);
}

TEST(RpcContext, CountsCapitalsTwiceAndBytesAsBase64) {
  const size_t room = (6 << 10) - 32 - strlen("marpc-ctx-_a");
  RpcContext context;
  EXPECT_FALSE(context.Set("A", std::string(room + 1, 'x')).ok());
  EXPECT_TRUE(context.Set("A", std::string(room, 'x')).ok());
  context.Clear();
  const size_t bytes = ((6 << 10) - 32 - strlen("marpc-ctx-a-bin")) / 4 * 3;
  EXPECT_FALSE(context.Set("a", std::string(bytes + 1, '\xff')).ok());
  EXPECT_TRUE(context.Set("a", std::string(bytes, '\xff')).ok());
}

TEST(RpcContext, ManySmallEntriesCountWhatTheyCarryBesides) {
  RpcContext context;
  int held = 0;
  while (held < 1000 && context.Set(absl::StrCat("k", held), "1").ok()) ++held;
  EXPECT_EQ(held, 133);
}

TEST(RpcContext, SetReplacesAndEntriesAreSorted) {
  RpcContext context;
  for (const char* key : {"c", "a", "b", "a"})
    ASSERT_TRUE(context.Set(key, std::string(key) + "!").ok());
  ASSERT_TRUE(context.Set("b", "new").ok());
  EXPECT_THAT(context.entries(), ElementsAre(Pair("a", "a!"), Pair("b", "new"), Pair("c", "c!")));
  context.Remove("a");
  context.Remove("none");
  EXPECT_EQ(context.Get("a"), std::nullopt);
  EXPECT_THAT(context.Get("b"), Optional(absl::string_view("new")));
  context.Clear();
  EXPECT_TRUE(context.empty());
}

TEST(RpcContext, WhatAPeerSendsInItsNameIsCheckedToo) {
  RpcContext context;
  EXPECT_FALSE(DecodeContextEntry("user-agent", "x", context));
  EXPECT_FALSE(DecodeContextEntry("marpc-ct", "x", context));
  EXPECT_TRUE(DecodeContextEntry("marpc-ctx-", "x", context));
  EXPECT_TRUE(DecodeContextEntry("marpc-ctx--bin", "x", context));
  EXPECT_TRUE(DecodeContextEntry("marpc-ctx-big", std::string(9'000, 'x'), context));
  EXPECT_THAT(context.entries(), IsEmpty());
}

TEST(RpcContextScope, NestsAndRestores) {
  EXPECT_TRUE(RpcContext::Current().empty());
  {
    RpcContext::Scope outer;
    ASSERT_TRUE(outer.Set("userId", "1").ok());
    {
      RpcContext::Scope inner;
      EXPECT_THAT(RpcContext::Current().Get("userId"), Optional(absl::string_view("1")));
      ASSERT_TRUE(inner.Set("userId", "2").ok());
      EXPECT_THAT(RpcContext::Current().Get("userId"), Optional(absl::string_view("2")));
      {
        const RpcContext::Scope fresh{RpcContext()};
        EXPECT_TRUE(RpcContext::Current().empty());
      }
      EXPECT_THAT(RpcContext::Current().Get("userId"), Optional(absl::string_view("2")));
    }
    EXPECT_THAT(RpcContext::Current().Get("userId"), Optional(absl::string_view("1")));
  }
  EXPECT_TRUE(RpcContext::Current().empty());
}

TEST(RpcContextScope, CarriesTheDeadlineAlong) {
  RpcContext::Scope outer;
  outer.context().set_deadline(MonotonicTime::FromNanos(7));
  const RpcContext::Scope inner;
  EXPECT_EQ(RpcContext::Current().deadline().nanos(), 7);
}

TEST(RpcContextScope, BelongsToItsThread) {
  RpcContext::Scope scope;
  ASSERT_TRUE(scope.Set("userId", "1").ok());
  bool seen = true;
  std::thread([&seen] { seen = !RpcContext::Current().empty(); }).join();
  EXPECT_FALSE(seen);
}

}  // namespace
}  // namespace marpc
