#include "marpc/base/endpoint.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

Endpoint Good(absl::string_view text) {
  const absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(text);
  EXPECT_TRUE(endpoint.ok()) << endpoint.status();
  return endpoint.value_or(Endpoint());
}

TEST(Endpoint, ReadsNamesAndAddresses) {
  EXPECT_EQ(Good("localhost:8080").host(), "localhost");
  EXPECT_EQ(Good("localhost:8080").port(), 8080);
  EXPECT_EQ(Good("my_service-1.example.com:1").host(), "my_service-1.example.com");
  EXPECT_EQ(Good("10.0.0.7:65535").port(), 65535);
  EXPECT_EQ(Good("[::1]:80").host(), "::1");
  EXPECT_EQ(Good("[fe80::1%eth0]:80").host(), "fe80::1%eth0");
}

TEST(Endpoint, ReadsUnixSockets) {
  const Endpoint endpoint = Good("unix:/run/marpc.sock");
  EXPECT_TRUE(endpoint.is_unix());
  EXPECT_EQ(endpoint.host(), "/run/marpc.sock");
  EXPECT_EQ(endpoint.port(), 0);
  EXPECT_TRUE(Endpoint::Parse("unix:/" + std::string(106, 'a')).ok());
  EXPECT_FALSE(Endpoint::Parse("unix:/" + std::string(107, 'a')).ok());
}

TEST(Endpoint, IsWrittenInTheFormThatIsRead) {
  for (const char* text :
       {"localhost:1", "[::1]:80", "[fe80::1%eth0]:80", "unix:/a b", "1.2.3.4:5"}) {
    EXPECT_EQ(Good(text).ToString(), text);
    EXPECT_EQ(Good(Good(text).ToString()), Good(text));
  }
  EXPECT_EQ(Good("a:0080"), Good("a:80"));
}

TEST(Endpoint, PortZeroIsForListeningOnly) {
  EXPECT_FALSE(Endpoint::Parse("localhost:0").ok());
  EXPECT_EQ(Endpoint::ParseListen("localhost:0")->port(), 0);
}

class BadEndpoint : public testing::TestWithParam<std::string> {};

TEST_P(BadEndpoint, IsRefusedInPlainWords) {
  const absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(GetParam());
  ASSERT_EQ(endpoint.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(endpoint.status().message());
  EXPECT_THAT(message, testing::HasSubstr("expected host:port, [v6-address]:port or unix:/path"));
  EXPECT_LT(message.size(), 1'200);
  for (const char c : message) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << "in: " << message;
}

INSTANTIATE_TEST_SUITE_P(
    Hostile, BadEndpoint,
    testing::Values("", ":", "localhost", "localhost:", ":80", "localhost:-1", "localhost:+1",
                    "localhost:65536", "localhost:99999999999999999999", "localhost:80x",
                    "localhost: 80", "localhost :80", "::1:80", "[::1:80", "::1]:80", "[]:80",
                    "[::1]", "[localhost]:80", "[::1%]:80", "[::1%a b]:80",
                    std::string("[::1\0x]:80", 11), std::string("a\0b:80", 6), "a\x01:80",
                    "a\x1b[31m:80", "a\n:80", "b\xc3\xa9:80", "http://a:80", "a/b:80", "user@a:80",
                    "a,b:80", "unix:", "unix:relative", "unix:/a\nb", std::string("unix:/a\0b", 9),
                    std::string(254, 'a') + ":80", std::string(100'000, '[') + ":80"));

}  // namespace
}  // namespace marpc
