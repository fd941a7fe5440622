// The answers of one method: bounded, least recently used first out, one fetch at a time for a key.
#ifndef MARPC_FILTER_METHOD_CACHE_H_
#define MARPC_FILTER_METHOD_CACHE_H_

#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/clock.h"
#include "marpc/config/settings.h"
#include "marpc/filter/pending_answer.h"

namespace marpc {

// Thread-safe.
class MethodCache {
 public:
  explicit MethodCache(const CacheSettings& settings) : settings_(settings) {}

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
  struct Entry {
    std::string key;
    std::shared_ptr<const std::string> bytes;
    MonotonicTime stored_at;
    size_t size() const { return key.size() + bytes->size() + kOverhead; }
    static constexpr size_t kOverhead = 128;  // of the containers, roughly
  };
  using Entries = std::list<Entry>;

  void Keep(const std::string& key, std::shared_ptr<const std::string> bytes, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const CacheSettings settings_;
  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<absl::string_view, Entries::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::shared_ptr<PendingAnswer>> fetching_
      ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace marpc

#endif  // MARPC_FILTER_METHOD_CACHE_H_
