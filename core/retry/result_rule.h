// Answers that ask for another try: `status == "PENDING"`.
#ifndef MARPC_RETRY_RESULT_RULE_H_
#define MARPC_RETRY_RESULT_RULE_H_

#include <atomic>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "marpc/base/method.h"

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
class Message;
class MessageLite;
}  // namespace google::protobuf

namespace marpc {

// A comparison of one field of a reply with a value. Immutable; shared by all threads.
//
//   status == "PENDING"      a string, or the name of an enum's value
//   job.attempts != 0        a number; fields of messages by dots
//   ready == false           a truth value
//   empty                    no field of the reply is set (what a dynamic language calls falsy)
//
// Several, joined by `||`, hold when one of them does.
class ResultRule {
 public:
  // InvalidArgument says what is wrong with the text, and which fields there are. `reply` is the
  // message it will be asked about.
  static absl::StatusOr<std::shared_ptr<const ResultRule>> Parse(
      absl::string_view text, const google::protobuf::Descriptor& reply);
  // For the replies of a method; FailedPrecondition where its reply type is not linked into this
  // process.
  static absl::StatusOr<std::shared_ptr<const ResultRule>> For(const Method& method,
                                                               absl::string_view text);
  // The form alone, where the message is not known yet. An empty text is no rule, and right.
  static absl::Status CheckForm(absl::string_view text);

  // False for a message of another type.
  bool Matches(const google::protobuf::MessageLite& reply) const;

 private:
  struct Comparison {
    std::vector<const google::protobuf::FieldDescriptor*> path;  // empty: the rule `empty`
    bool equal = true;
    std::string value;  // as a field's value is written: see ValueOf() in result_rule.cc
  };
  // `reply` as what it is; null where the rule does not speak of such.
  const google::protobuf::Message* AsOwnType(const google::protobuf::MessageLite& reply) const;

  const google::protobuf::Descriptor* type_ = nullptr;
  // The class of the replies, once one was seen: a look at it is quicker than a dynamic_cast.
  mutable std::atomic<const std::type_info*> class_{nullptr};
  std::vector<Comparison> any_of_;
};

}  // namespace marpc

#endif  // MARPC_RETRY_RESULT_RULE_H_
