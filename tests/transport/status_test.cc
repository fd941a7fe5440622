#include "marpc/transport/grpc/status.h"

#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

TEST(GrpcStatus, OkStaysOkBothWays) {
  EXPECT_TRUE(ToAbslStatus(grpc::Status::OK).ok());
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

TEST(GrpcStatus, EveryCodeKeepsItsNumberAndMessage) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    const grpc::Status sent = ToGrpcStatus(status);
    EXPECT_EQ(sent.error_code(), code);
    EXPECT_EQ(sent.error_message(), "why");
    EXPECT_EQ(sent.error_details(), "");
    EXPECT_EQ(ToAbslStatus(sent), status);
  }
}

TEST(GrpcStatus, CodeThatGrpcDoesNotDefineBecomesUnknown) {
  // As far as the enumeration's type reaches: beyond it, even to read one is undefined.
  const grpc::Status odd(static_cast<grpc::StatusCode>(20), "odd");
  EXPECT_EQ(ToAbslStatus(odd).code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(ToAbslStatus(odd).message(), "odd");
}

TEST(GrpcStatus, PayloadsTravelAsDetailsOfGoogleRpcStatus) {
  absl::Status status = FrameworkError(absl::StatusCode::kUnavailable, "SOME_REASON", "no luck");
  status.SetPayload("type.googleapis.com/demo.Extra", absl::Cord(std::string("\x00\xff", 2)));
  const grpc::Status sent = ToGrpcStatus(status);

  StatusDetails details;
  ASSERT_TRUE(details.ParseFromString(sent.error_details()));
  EXPECT_EQ(details.code(), 14);
  EXPECT_EQ(details.message(), "no luck");
  EXPECT_EQ(details.details_size(), 2);

  EXPECT_EQ(ToAbslStatus(sent), status);
  const std::optional<ErrorInfo> info = GetErrorInfo(sent);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason(), "SOME_REASON");
  EXPECT_EQ(info->origin(), ErrorInfo::FRAMEWORK);
}

TEST(GrpcStatus, MessageThatIsNoUtf8DoesNotCostTheDetails) {
  const absl::Status status =
      FrameworkError(absl::StatusCode::kInternal, "R", "bad \xff\xfe bytes");
  EXPECT_EQ(ToAbslStatus(ToGrpcStatus(status)), status);
}

TEST(GrpcStatus, DetailsOfAnUnknownFormAreKeptByteForByte) {
  const std::string parses_by_chance("\x08\x05", 2);
  for (const std::string& raw : {std::string("\xff\xff no message"), parses_by_chance}) {
    const grpc::Status status(grpc::StatusCode::ABORTED, "own form", raw);
    const absl::Status kept = ToAbslStatus(status);
    EXPECT_EQ(kept.GetPayload(kRawDetailsPayload), absl::Cord(raw));
    EXPECT_EQ(ToGrpcStatus(kept).error_details(), raw);
    EXPECT_FALSE(GetErrorInfo(status).has_value());
  }
}

TEST(GrpcStatus, FirstOfSeveralDetailsOfOneTypeIsKept) {
  StatusDetails details;
  for (const char* value : {"first", "second"}) {
    google::protobuf::Any& any = *details.add_details();
    any.set_type_url("type.googleapis.com/demo.Extra");
    any.set_value(value);
  }
  const grpc::Status status(grpc::StatusCode::ABORTED, "m", details.SerializeAsString());
  EXPECT_EQ(ToAbslStatus(status).GetPayload("type.googleapis.com/demo.Extra"), absl::Cord("first"));
}

TEST(GrpcStatus, OkAndPlainFailuresCarryNoErrorInfo) {
  EXPECT_FALSE(GetErrorInfo(grpc::Status::OK).has_value());
  EXPECT_FALSE(GetErrorInfo(grpc::Status(grpc::StatusCode::ABORTED, "m")).has_value());
}

}  // namespace
}  // namespace marpc
