// options.proto against the key table: whatever is added to either is seen here.
#include "marpc/base/policy_options.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "marpc/config/effective_policy.h"
#include "marpc/config/keys.h"
#include "marpc/config/yaml_node.h"
#include "marpc/options.pb.h"

namespace marpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::HasSubstr;

// Keys of a method's level that a .proto cannot give, each with the reason.
const std::map<std::string, std::string>& LeftOut() {
  static const auto& left_out = *new std::map<std::string, std::string>{
      {"filter.mock.enabled",
       "a mock stands in for a provider on somebody's machine; it is no part "
       "of what a service promises"},
      {"filter.mock.reply", "as filter.mock.enabled"},
      {"filter.mock.code", "as filter.mock.enabled"},
      {"filter.mock.message", "as filter.mock.enabled"},
      {"retry.budget.name",
       "which services share a budget is for the process to say that calls "
       "them; one .proto does not know the others"},
      {"retry.throttle.name", "as retry.budget.name"},
      {"circuitbreaker.initialState",
       "taking a service out is an operator's decision of the moment"},
  };
  return left_out;
}

// The fields of `type` and of the messages in it: "retry.backoff.initial".
void CollectFields(const Descriptor& type, const std::string& group,
                   std::map<std::string, std::vector<const FieldDescriptor*>>& fields,
                   std::vector<const FieldDescriptor*> way = {}) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    const std::string name = absl::StrCat(group, group.empty() ? "" : ".", field->name());
    std::vector<const FieldDescriptor*> here = way;
    here.push_back(field);
    if (field->message_type() != nullptr) {
      CollectFields(*field->message_type(), name, fields, here);
    } else if (name != "quick") {
      fields[name] = here;
    }
  }
}

std::map<std::string, std::vector<const FieldDescriptor*>> FieldsOf(const Descriptor& type) {
  std::map<std::string, std::vector<const FieldDescriptor*>> fields;
  CollectFields(type, "", fields);
  return fields;
}

std::shared_ptr<const YamlNode> Parsed(const std::string& yaml) {
  Faults faults;
  std::shared_ptr<const YamlNode> node = ParseYaml(yaml, faults);
  EXPECT_TRUE(faults.empty()) << yaml;
  return node;
}

void SetScalar(Message& message, const FieldDescriptor& field, const std::string& text) {
  const google::protobuf::Reflection& r = *message.GetReflection();
  int64_t whole = 0;
  double number = 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return field.is_repeated() ? r.AddString(&message, &field, text)
                                 : r.SetString(&message, &field, text);
    case FieldDescriptor::CPPTYPE_BOOL:
      return r.SetBool(&message, &field, text == "true");
    case FieldDescriptor::CPPTYPE_DOUBLE:
      ASSERT_TRUE(absl::SimpleAtod(text, &number));
      return r.SetDouble(&message, &field, number);
    case FieldDescriptor::CPPTYPE_INT32:
      ASSERT_TRUE(absl::SimpleAtoi(text, &whole));
      return r.SetInt32(&message, &field, static_cast<int32_t>(whole));
    case FieldDescriptor::CPPTYPE_INT64:
      ASSERT_TRUE(absl::SimpleAtoi(text, &whole));
      return r.SetInt64(&message, &field, whole);
    default:
      FAIL() << field.full_name() << " is of a type that no key has";
  }
}

// The option with that one field, set to what the key's example says.
template <typename Options>
Options WithExample(const std::vector<const FieldDescriptor*>& way, const Key& key) {
  Options options;
  Message* message = &options;
  for (size_t i = 0; i + 1 < way.size(); ++i) {
    message = message->GetReflection()->MutableMessage(message, way[i]);
  }
  const auto example = Parsed(key.example);
  if (example->kind == YamlNode::Kind::kScalar) {
    SetScalar(*message, *way.back(), example->scalar);
  } else {
    for (const auto& item : example->items) SetScalar(*message, *way.back(), item->scalar);
  }
  return options;
}

// What makes the combination a good one.
std::string CompanionOf(const std::string& key) {
  if (key == "retry.backoff.min") return "retry.backoff.strategy: uniform\n";
  if (key == "retry.backoff.delays") return "retry.backoff.strategy: list\n";
  return "";
}

TEST(PolicyOptionsTest, EveryKeyOfAMethodIsAFieldOrLeftOutForAReason) {
  std::set<std::string> keys;
  for (const auto& [field, way] : FieldsOf(*MethodOptions::descriptor())) {
    const std::string name = KeyOfPolicyField(field);
    const Key* key = FindKey(name);
    ASSERT_NE(key, nullptr) << field << " is no key (" << name << ")";
    EXPECT_TRUE(key->of_method) << name;
    EXPECT_FALSE(LeftOut().contains(name)) << name << " is a field and said to be left out";
    keys.insert(name);
  }
  for (const Key& key : Keys()) {
    if (!key.of_method || LeftOut().contains(key.name)) continue;
    EXPECT_TRUE(keys.contains(key.name))
        << key.name
        << ": add it to the messages of proto/marpc/options.proto, or to LeftOut() "
           "here with the reason";
  }
  for (const auto& [name, reason] : LeftOut()) EXPECT_NE(FindKey(name), nullptr) << name;
}

TEST(PolicyOptionsTest, AServiceSaysTheSameAsAMethod) {
  const auto method = FieldsOf(*MethodOptions::descriptor());
  const auto service = FieldsOf(*ServiceOptions::descriptor());
  size_t shared = 0;
  for (const auto& [field, way] : method) {
    if (!FindKey(KeyOfPolicyField(field))->AllowedAt(Level::kService)) continue;
    ++shared;
    ASSERT_TRUE(service.contains(field)) << field;
    for (size_t i = 0; i < way.size(); ++i) {
      EXPECT_EQ(service.at(field)[i]->number(), way[i]->number()) << field;
    }
  }
  EXPECT_EQ(service.size(), shared);
}

// Every field, by the example of its key, of both options.
TEST(PolicyOptionsTest, EveryFieldSetsItsKeyAlone) {
  for (const bool of_method : {true, false}) {
    const auto fields =
        FieldsOf(of_method ? *MethodOptions::descriptor() : *ServiceOptions::descriptor());
    for (const auto& [field, way] : fields) {
      const Key& key = *FindKey(KeyOfPolicyField(field));
      if (of_method && !key.AllowedAt(Level::kMethod)) continue;  // refused, as below
      std::string text = CompanionOf(key.name);
      absl::StrAppend(&text, of_method ? PolicyText(WithExample<MethodOptions>(way, key))
                                       : PolicyText(WithExample<ServiceOptions>(way, key)));
      Method method;
      method.service = "acme.Shop";
      method.name = "Buy";
      // Others are not cached by what is said of a whole service.
      method.idempotent = key.name == "filter.cache.enabled";
      (of_method ? method.policy : method.service_policy) = text;
      const EffectivePolicy policy = EffectivePolicyOf(method, Settings());
      ASSERT_TRUE(policy.status.ok()) << policy.status << "\n" << text;
      const auto given = policy.settings.origins.find(key.name);
      ASSERT_NE(given, policy.settings.origins.end()) << field;
      EXPECT_EQ(given->second.source,
                of_method ? ValueOrigin::Source::kProtoMethod : ValueOrigin::Source::kProtoService);
      for (const Key& other : Keys()) {
        if (!other.of_method) continue;
        MethodSettings defaults;
        MethodSettings got = policy.settings;
        const std::string shown = other.show(Place::OfMethod(got));
        const std::string by_default = other.show(Place::OfMethod(defaults));
        if (other.name == key.name) {
          EXPECT_NE(shown, by_default) << field;
        } else if (key.name != "retry.policy" &&
                   !absl::StartsWith(CompanionOf(key.name), other.name)) {
          EXPECT_EQ(shown, by_default) << field << " changes " << other.name;
        }
      }
    }
  }
}

TEST(PolicyOptionsTest, WhatIsOfAServiceAloneIsRefusedInAMethod) {
  for (const char* text :
       {"circuitbreaker.scope: [method]\n", "circuitbreaker.activeProbe: true\n"}) {
    Method method;
    method.service = "acme.Shop";
    method.name = "Buy";
    method.policy = text;
    const absl::Status status = EffectivePolicyOf(method, Settings()).status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("may not stand in a method; allowed: at the top, in a service"));
    // In code, too.
    EXPECT_TRUE(CheckCodePolicies({{"acme.Shop", text}}, Settings()).ok());
    EXPECT_FALSE(CheckCodePolicies({{"acme.Shop/Buy", text}}, Settings()).ok());
  }
  // What no method goes by is no policy.
  const absl::Status status =
      CheckCodePolicies({{"acme.Shop", "outlier.enabled: true"}}, Settings());
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("outlier.enabled may not stand in the policy of a service"));
  EXPECT_FALSE(CheckCodePolicies({{"acme.Shop", "methods: {Buy: {}}"}}, Settings()).ok());
}

TEST(PolicyOptionsTest, TextKeepsQuotesLineEndsAndLettersOfAnyLanguage) {
  const std::string odd = "a \"b\" 'c' \\ \n\t# $x ${HOME} \xE4\xBD\xA0: {[,";
  MethodOptions options;
  options.set_fallback(odd);
  Method method;
  method.policy = PolicyText(options);
  EXPECT_EQ(std::count(method.policy.begin(), method.policy.end(), '\n'), 1);
  const EffectivePolicy policy = EffectivePolicyOf(method, Settings());
  EXPECT_TRUE(policy.status.ok()) << policy.status;
  EXPECT_EQ(policy.settings.fallback, odd);
}

TEST(PolicyOptionsTest, QuickIsNoPolicyAndWhatIsNotGivenIsNotThere) {
  MethodOptions options;
  options.set_quick(true);
  options.mutable_retry();
  EXPECT_EQ(PolicyText(options), "");
  // Given, though it is the default.
  options.mutable_retry()->set_max_retries(0);
  EXPECT_EQ(PolicyText(options), "retry.maxRetries: 0\n");
}

}  // namespace
}  // namespace marpc
