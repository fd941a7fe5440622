#include "marpc/filter/stale_answers.h"

#include <utility>

#include "google/protobuf/message_lite.h"
#include "marpc/filter/question_key.h"

namespace marpc {

void StaleAnswers::Keep(const google::protobuf::MessageLite& request, const RpcContext& context,
                        const google::protobuf::MessageLite& reply, MonotonicTime now) {
  const std::string key = QuestionKey(request, context, key_settings_);
  auto bytes = std::make_shared<const std::string>(reply.SerializeAsString());
  absl::MutexLock lock(&mutex_);
  store_.Keep(key, std::move(bytes), now);
}

bool StaleAnswers::Answer(const google::protobuf::MessageLite& request, const RpcContext& context,
                          google::protobuf::MessageLite* reply, MonotonicTime now) {
  const std::string key = QuestionKey(request, context, key_settings_);
  std::shared_ptr<const std::string> bytes;
  {
    absl::MutexLock lock(&mutex_);
    bytes = store_.Find(key, now);
  }
  return bytes != nullptr && reply->ParseFromString(*bytes);
}

}  // namespace marpc
