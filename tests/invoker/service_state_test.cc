#include "marpc/invoker/service_state.h"

#include <stdexcept>

#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using Source = ServiceSnapshot::Source;

TEST(DescribeListTest, TellsAnAgeOnlyOfAListThatTheRegistryDoesNotConfirm) {
  ServiceState state;
  state.confirmed_at = MonotonicTime::FromNanos(1'000'000'000);
  const MonotonicTime now = state.confirmed_at + absl::Hours(5);
  EXPECT_EQ(DescribeList(state, now), "the registry is connected");
  state.source = Source::kKept;
  EXPECT_EQ(DescribeList(state, now),
            "the list is 5h old, kept while the registry gives no better one");
  state.source = Source::kDisk;
  EXPECT_EQ(DescribeList(state, state.confirmed_at),
            "the list is less than 1ms old, read from the snapshot on disk");
}

TEST(AskFallbackTest, OneThatThrowsIsNamed) {
  MethodPolicy policy;
  policy.method = &InternMethod({.service = "test.Fallback", .name = "Get"});
  policy.settings.fallback = "cached";
  policy.fallback = [](const Method&, const google::protobuf::MessageLite&, const absl::Status&,
                       google::protobuf::MessageLite*) -> absl::Status {
    throw std::runtime_error("nothing kept");
  };
  google::protobuf::StringValue message;
  const absl::Status status =
      AskFallback(policy, message, absl::UnavailableError("lost"), &message);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "the fallback 'cached' of test.Fallback/Get threw: nothing kept");
  policy.fallback = [](const Method&, const google::protobuf::MessageLite&,
                       const absl::Status& error, google::protobuf::MessageLite*) { return error; };
  EXPECT_EQ(AskFallback(policy, message, absl::UnavailableError("lost"), &message),
            absl::UnavailableError("lost"));
}

}  // namespace
}  // namespace marpc
