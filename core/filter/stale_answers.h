// The last good answers of one method, for calls that fail: stale if error.
//
// The same question is what it is for the cache (question_key.h). The difference: the cache answers
// instead of a call, this one after a call that has failed with all its retries.
#ifndef MARPC_FILTER_STALE_ANSWERS_H_
#define MARPC_FILTER_STALE_ANSWERS_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/clock.h"
#include "marpc/config/settings.h"
#include "marpc/context/rpc_context.h"
#include "marpc/filter/answer_store.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace marpc {

// Thread-safe.
class StaleAnswers {
 public:
  explicit StaleAnswers(const MethodSettings& settings)
      : key_settings_(settings.cache),
        store_(settings.stale_if_error.max_age, settings.stale_if_error.max_entries,
               settings.stale_if_error.max_bytes) {}

  void Keep(const google::protobuf::MessageLite& request, const RpcContext& context,
            const google::protobuf::MessageLite& reply, MonotonicTime now);
  // True, and `reply` filled, when there is one that is young enough.
  bool Answer(const google::protobuf::MessageLite& request, const RpcContext& context,
              google::protobuf::MessageLite* reply, MonotonicTime now);

 private:
  const CacheSettings key_settings_;
  absl::Mutex mutex_;
  AnswerStore store_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_FILTER_STALE_ANSWERS_H_
