// What makes two calls of a method the same question.
#ifndef MARPC_FILTER_QUESTION_KEY_H_
#define MARPC_FILTER_QUESTION_KEY_H_

#include <string>

#include "marpc/config/settings.h"
#include "marpc/context/rpc_context.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace marpc {

// The request's deterministic bytes and the context's entries: those that `settings.vary_on`
// names, or all but the trace ids. No two questions share a key.
std::string QuestionKey(const google::protobuf::MessageLite& request, const RpcContext& context,
                        const CacheSettings& settings);

}  // namespace marpc

#endif  // MARPC_FILTER_QUESTION_KEY_H_
