// The answers of one method: bounded, least recently used first out, one fetch at a time for a key.
#ifndef MARPC_FILTER_METHOD_CACHE_H_
#define MARPC_FILTER_METHOD_CACHE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/clock.h"
#include "marpc/config/settings.h"
#include "marpc/filter/answer_store.h"
#include "marpc/filter/pending_answer.h"

namespace marpc {

// Thread-safe.
class MethodCache {
 public:
  explicit MethodCache(const CacheSettings& settings)
      : answers_(settings.ttl, settings.max_entries, settings.max_bytes) {}

  struct Lookup {
    std::shared_ptr<const std::string> bytes;  // a hit
    std::shared_ptr<PendingAnswer> pending;    // a miss
    bool fetch = false;  // a miss: the caller is the one to fetch, and must call Finish()
  };
  Lookup Find(const std::string& key, MonotonicTime now);

  // The fetch for `key` ended: with an answer to keep, or (null) with `outcome` for those who wait.
  void Finish(const std::string& key, const std::shared_ptr<PendingAnswer>& pending,
              std::shared_ptr<const std::string> bytes, absl::Status outcome, MonotonicTime now);

  void Clear();
  size_t size() const;
  size_t bytes() const;

 private:
  mutable absl::Mutex mutex_;
  AnswerStore answers_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::shared_ptr<PendingAnswer>> fetching_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_FILTER_METHOD_CACHE_H_
