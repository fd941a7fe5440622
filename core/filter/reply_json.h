// Replies written down in the configuration, as protobuf JSON.
#ifndef MARPC_FILTER_REPLY_JSON_H_
#define MARPC_FILTER_REPLY_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "marpc/base/method.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace marpc {

// Fills `reply` from `json`, which stands in `key` of `method`; the error names both.
absl::Status FillFromJson(const std::string& json, absl::string_view key, const Method& method,
                          google::protobuf::MessageLite* reply);

// Whether that can be done, as far as the method's messages are known to this process.
absl::Status CheckReplyJson(const std::string& json, absl::string_view key, const Method& method);

}  // namespace marpc

#endif  // MARPC_FILTER_REPLY_JSON_H_
