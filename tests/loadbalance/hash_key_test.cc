#include "marpc/invoker/hash_key.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/api.pb.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/type.pb.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/stable_hash.h"

namespace marpc {
namespace {

using ::testing::Eq;
using ::testing::Optional;

template <typename Request>
std::shared_ptr<const HashKey> KeyFor(const std::string& key, const std::string& field) {
  Method method;
  method.request_prototype = &Request::default_instance();
  HashSettings settings;
  settings.key = key;
  settings.field = field;
  return HashKey::For(method, settings);
}

RpcContext With(const std::string& key, const std::string& value) {
  RpcContext context;
  EXPECT_TRUE(context.Set(key, value).ok());
  return context;
}

TEST(HashKeyTest, IsAnEntryOfTheContext) {
  const auto key = KeyFor<google::protobuf::Empty>("userId", "");
  EXPECT_THAT(key->Of(google::protobuf::Empty(), With("userId", "42"), nullptr),
              Optional(StableHash("42")));
  EXPECT_EQ(key->Of(google::protobuf::Empty(), With("userid", "42"), nullptr), std::nullopt);
  EXPECT_EQ(key->Of(google::protobuf::Empty(), With("userId", ""), nullptr), std::nullopt);
}

TEST(HashKeyTest, OrMetadataOfThatName) {
  const auto key = KeyFor<google::protobuf::Empty>("X-User", "");
  const Metadata metadata = {{"a", "b"}, {"x-user", "42"}};
  EXPECT_THAT(key->Of(google::protobuf::Empty(), RpcContext(), &metadata),
              Optional(StableHash("42")));
  EXPECT_THAT(key->Of(google::protobuf::Empty(), With("X-User", "43"), &metadata),
              Optional(StableHash("43")));
}

TEST(HashKeyTest, OrAFieldOfTheRequestWhichComesFirst) {
  const auto key = KeyFor<google::protobuf::Api>("userId", "name");
  google::protobuf::Api request;
  EXPECT_THAT(key->Of(request, With("userId", "42"), nullptr), Optional(StableHash("42")));
  request.set_name("n");
  for (int i = 0; i < 2; ++i) {  // the class is known the second time
    EXPECT_THAT(key->Of(request, With("userId", "42"), nullptr), Optional(StableHash("n")));
  }
}

TEST(HashKeyTest, OfAMessageWithin) {
  const auto key = KeyFor<google::protobuf::Api>("", "source_context.file_name");
  google::protobuf::Api request;
  EXPECT_EQ(key->Of(request, RpcContext(), nullptr), std::nullopt);
  request.mutable_source_context()->set_file_name("f");
  EXPECT_THAT(key->Of(request, RpcContext(), nullptr), Optional(StableHash("f")));
}

TEST(HashKeyTest, NumbersAreValues) {
  google::protobuf::Field request;
  const auto key = KeyFor<google::protobuf::Field>("", "number");
  const auto zero = key->Of(request, RpcContext(), nullptr);
  EXPECT_TRUE(zero.has_value());
  request.set_number(-7);
  EXPECT_NE(key->Of(request, RpcContext(), nullptr), zero);
  const auto truth = KeyFor<google::protobuf::Field>("", "packed");
  EXPECT_TRUE(truth->Of(request, RpcContext(), nullptr).has_value());
  const auto kind = KeyFor<google::protobuf::Field>("", "kind");
  request.set_kind(google::protobuf::Field::TYPE_BOOL);
  EXPECT_TRUE(kind->Of(request, RpcContext(), nullptr).has_value());
  const auto number = KeyFor<google::protobuf::DoubleValue>("", "value");
  google::protobuf::DoubleValue value;
  value.set_value(1.5);
  EXPECT_TRUE(number->Of(value, RpcContext(), nullptr).has_value());
}

TEST(HashKeyTest, AFieldThatTheRequestDoesNotHaveIsNone) {
  EXPECT_EQ(KeyFor<google::protobuf::Api>("", "nothing"), nullptr);
  EXPECT_EQ(KeyFor<google::protobuf::Api>("", "methods"), nullptr) << "a list";
  EXPECT_EQ(KeyFor<google::protobuf::Api>("", "source_context"), nullptr) << "a message";
  EXPECT_EQ(KeyFor<google::protobuf::Api>("", "name.first"), nullptr);
  EXPECT_EQ(KeyFor<google::protobuf::Api>("", ""), nullptr);
  const auto key = KeyFor<google::protobuf::Api>("userId", "nothing");
  ASSERT_NE(key, nullptr);
  EXPECT_FALSE(key->has_field());
  EXPECT_THAT(key->Of(google::protobuf::Api(), With("userId", "42"), nullptr),
              Optional(Eq(StableHash("42"))));
}

TEST(HashKeyTest, ARequestOfAnotherTypeHasNoField) {
  const auto key = KeyFor<google::protobuf::Api>("", "name");
  google::protobuf::Field other;
  other.set_name("n");
  EXPECT_EQ(key->Of(other, RpcContext(), nullptr), std::nullopt);
}

}  // namespace
}  // namespace marpc
