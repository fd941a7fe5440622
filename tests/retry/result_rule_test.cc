#include "marpc/retry/result_rule.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using google::protobuf::FieldDescriptorProto;
using ::testing::HasSubstr;

// A message with a text, a number, a truth value, an enum, a list and a message.
FieldDescriptorProto Field() {
  FieldDescriptorProto field;
  field.set_name("user");
  field.set_number(7);
  field.set_type(FieldDescriptorProto::TYPE_BOOL);
  field.mutable_options()->set_deprecated(true);
  return field;
}

bool Matches(const std::string& text, const google::protobuf::Message& message) {
  const auto rule = ResultRule::Parse(text, *message.GetDescriptor());
  EXPECT_TRUE(rule.ok()) << rule.status();
  return rule.ok() && (*rule)->Matches(message);
}

std::string Fault(const std::string& text) {
  return std::string(
      ResultRule::Parse(text, *FieldDescriptorProto::descriptor()).status().message());
}

TEST(ResultRuleTest, ComparesEveryKindOfField) {
  EXPECT_TRUE(Matches("name == \"user\"", Field()));
  EXPECT_FALSE(Matches("name == 'other'", Field()));
  EXPECT_TRUE(Matches("name != 'other'", Field()));
  EXPECT_TRUE(Matches("number == 7", Field()));
  EXPECT_TRUE(Matches("number == 007", Field()));
  EXPECT_TRUE(Matches("type == TYPE_BOOL", Field()));
  EXPECT_TRUE(Matches("options.deprecated == true", Field()));
  EXPECT_FALSE(Matches("options.lazy == true", Field()));
}

TEST(ResultRuleTest, AnyOfSeveralIsEnough) {
  EXPECT_TRUE(Matches("number == 1 || name == \"user\"", Field()));
  EXPECT_FALSE(Matches("number == 1 || number == 2", Field()));
}

TEST(ResultRuleTest, SignsInQuotesAreText) {
  FieldDescriptorProto field = Field();
  field.set_name("a||b");
  EXPECT_TRUE(Matches("name == \"a||b\"", field));
  EXPECT_TRUE(Matches("number == 1 || name == 'a||b'", field));
  field.set_name("x==y");
  EXPECT_FALSE(Matches("name != \"x==y\"", field));
  EXPECT_TRUE(Matches("name != 'x!=y'", field));
}

TEST(ResultRuleTest, DoublesAreComparedToTheLastDigit) {
  google::protobuf::DoubleValue value;
  value.set_value(1234567.5);
  EXPECT_TRUE(Matches("value == 1234567.5", value));
  EXPECT_FALSE(Matches("value == 1234567", value));
  value.set_value(0.1);
  EXPECT_TRUE(Matches("value == 0.10", value));
  google::protobuf::FloatValue single;
  single.set_value(0.1f);
  EXPECT_TRUE(Matches("value == 0.1", single));
  single.set_value(-0.0f);
  EXPECT_TRUE(Matches("value == 0", single));
}

TEST(ResultRuleTest, EmptyIsAMessageWithNothingInIt) {
  google::protobuf::StringValue value;
  EXPECT_TRUE(Matches("empty", value));
  value.set_value("x");
  EXPECT_FALSE(Matches("empty", value));
}

TEST(ResultRuleTest, AMessageOfAnotherTypeNeverMatches) {
  const auto rule = ResultRule::Parse("empty", *FieldDescriptorProto::descriptor());
  ASSERT_TRUE(rule.ok());
  EXPECT_FALSE((*rule)->Matches(google::protobuf::StringValue()));
}

// All dynamic messages are of one C++ class, whatever their type.
TEST(ResultRuleTest, KnowsDynamicMessagesApart) {
  google::protobuf::DynamicMessageFactory factory;
  const std::unique_ptr<google::protobuf::Message> text(
      factory.GetPrototype(google::protobuf::StringValue::descriptor())->New());
  const std::unique_ptr<google::protobuf::Message> number(
      factory.GetPrototype(google::protobuf::Int64Value::descriptor())->New());
  const auto rule = ResultRule::Parse("value == 0", *google::protobuf::Int64Value::descriptor());
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_TRUE((*rule)->Matches(*number));
  EXPECT_FALSE((*rule)->Matches(*text));
  EXPECT_TRUE((*rule)->Matches(google::protobuf::Int64Value()));
  EXPECT_FALSE((*rule)->Matches(*text));
  EXPECT_FALSE((*rule)->Matches(google::protobuf::StringValue()));
  EXPECT_TRUE((*rule)->Matches(google::protobuf::Int64Value()));
}

TEST(ResultRuleTest, SaysWhatIsWrong) {
  EXPECT_THAT(Fault("pending"), HasSubstr("'pending' is no rule"));
  EXPECT_THAT(Fault("name == "), HasSubstr("is no rule"));
  EXPECT_THAT(Fault("name == \"x"), HasSubstr("is no rule"));
  EXPECT_THAT(Fault("nam == 'x'"), HasSubstr("has no field 'nam'; its fields: name,"));
  EXPECT_THAT(Fault("name.first == 'x'"), HasSubstr("name is no message"));
  EXPECT_THAT(Fault("options == 'x'"), HasSubstr("is a message; name one of its fields"));
  EXPECT_THAT(Fault("number == many"), HasSubstr("takes a number of type int32"));
  EXPECT_THAT(Fault("type == BOOL"), HasSubstr("takes one of TYPE_DOUBLE"));
  EXPECT_THAT(Fault("name == x"), HasSubstr("takes a text in quotes"));
}

}  // namespace
}  // namespace marpc
