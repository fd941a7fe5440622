#include "marpc/filter/mock_filter.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "tests/filter/filter_call_fixture.h"

namespace marpc {
namespace {

using ::testing::AllOf;
using testing::FilterUse;
using ::testing::HasSubstr;
using Kind = Filter::Verdict::Kind;

google::protobuf::StringValue Text(const std::string& text) {
  google::protobuf::StringValue value;
  value.set_value(text);
  return value;
}

class MockFilterTest : public ::testing::Test {
 protected:
  MockFilterTest() { settings_.mock.enabled = true; }
  FilterUse Call() { return FilterUse(mock_, method_, settings_, clock_, "q"); }
  Filter::Verdict Ask(std::string* reply = nullptr) {
    FilterUse call = Call();
    Filter::Verdict verdict = call.Before();
    if (reply != nullptr) *reply = call.reply();
    return verdict;
  }
  std::string ReplyOf() {
    std::string reply;
    const Filter::Verdict verdict = Ask(&reply);
    if (verdict.kind != Kind::kAnswer) return "not mocked";
    return verdict.status.ok() ? reply : verdict.status.ToString();
  }

  SimulatedClock clock_;
  MethodSettings settings_;
  const google::protobuf::StringValue prototype_;
  const Method& method_ =
      InternMethod({.service = "test.Mock", .name = "Get", .reply_prototype = &prototype_});
  MockFilter mock_;
};

TEST_F(MockFilterTest, LetsACallThroughThatNobodyMocked) {
  EXPECT_EQ(Ask().kind, Kind::kContinue);
  mock_.Reply("test.Mock/Other", Text("x"));
  mock_.Reply("Other", Text("x"));
  EXPECT_EQ(Ask().kind, Kind::kContinue);
}

TEST_F(MockFilterTest, AnswersByTheFullNameBeforeTheShortOne) {
  mock_.Reply("Get", Text("of any service"));
  EXPECT_EQ(ReplyOf(), "of any service");
  mock_.Reply("test.Mock/Get", Text("of this one"));
  EXPECT_EQ(ReplyOf(), "of this one");
  EXPECT_EQ(Ask().answer, CallReport::Answer::kMock);
}

TEST_F(MockFilterTest, AnswersWithAnEmptyReply) {
  mock_.Reply("Get", Text(""));
  EXPECT_EQ(ReplyOf(), "");
}

TEST_F(MockFilterTest, AnswersWithAStatusThatIsMarkedAsMocked) {
  mock_.Fail("Get", absl::NotFoundError("no such user"));
  const Filter::Verdict verdict = Ask();
  EXPECT_EQ(verdict.status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(verdict.status.message(), "no such user");
  EXPECT_EQ(GetErrorInfo(verdict.status)->reason(), reason::kMocked);
}

TEST_F(MockFilterTest, ClearTakesWhatWasSetInCodeAndLeavesTheYamls) {
  settings_.mock.reply = R"("from yaml")";
  mock_.Reply("Get", Text("from code"));
  EXPECT_EQ(ReplyOf(), "from code");
  mock_.Clear();
  EXPECT_EQ(ReplyOf(), "from yaml");
}

TEST_F(MockFilterTest, AnswersWithTheYamlsStatus) {
  settings_.mock.code = absl::StatusCode::kPermissionDenied;
  settings_.mock.message = "not you";
  const Filter::Verdict verdict = Ask();
  EXPECT_EQ(verdict.status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(verdict.status.message(), "not you");
}

TEST_F(MockFilterTest, AReplyOfAnotherTypeIsAnErrorThatNamesBoth) {
  mock_.Reply("Get", google::protobuf::Value());
  EXPECT_THAT(Ask().status.message(),
              AllOf(HasSubstr("google.protobuf.Value"), HasSubstr("google.protobuf.StringValue")));
}

TEST_F(MockFilterTest, CheckFindsJsonThatIsNotOfTheReply) {
  MockSettings settings;
  settings.reply = "{\"no\": \"such field\"}";
  EXPECT_THAT(MockFilter::Check(method_, settings).message(),
              AllOf(HasSubstr("test.Mock/Get"), HasSubstr("google.protobuf.StringValue")));
  settings.reply = R"("fine")";
  EXPECT_TRUE(MockFilter::Check(method_, settings).ok());
  settings.code = absl::StatusCode::kNotFound;
  EXPECT_THAT(MockFilter::Check(method_, settings).message(), HasSubstr("both"));
}

TEST_F(MockFilterTest, IsAskedOnlyWhereItIsOn) {
  EXPECT_TRUE(mock_.AppliesTo(method_, settings_));
  EXPECT_FALSE(mock_.AppliesTo(method_, MethodSettings()));
}

}  // namespace
}  // namespace marpc
