// Keeps good answers for a while, so that the same question is not asked twice.
//
// The same question is: the same method, the same request (its deterministic bytes) and the same
// RpcContext entries, so that no caller is served another's answer. Trace ids do not count;
// `varyOn` names the entries that do, where not all of them. Only successes are kept, each for
// `ttl`; every method has its own room of `maxEntries` and `maxBytes`, of which the least recently
// used give way. While one call fetches an answer, further ones for the same wait for it instead of
// fetching it too.
#ifndef MARPC_FILTER_CACHE_FILTER_H_
#define MARPC_FILTER_CACHE_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/snapshot_cell.h"
#include "marpc/filter/filter.h"

namespace marpc {

class MethodCache;

// Thread-safe.
class CacheFilter final : public Filter {
 public:
  CacheFilter();
  ~CacheFilter() override;

  absl::string_view name() const override { return "cache"; }
  int order() const override { return 10; }
  bool AppliesTo(const Method& method, const MethodSettings& settings) const override {
    (void)method;
    return settings.cache.enabled;
  }
  Verdict Before(FilterCall& call) override;
  void After(FilterCall& call, const absl::Status& status) override;
  void Abandoned(FilterCall& call, const absl::Status& status) override;

  // Forgets every answer. One that is being fetched serves those who wait for it already, and is
  // not kept.
  void Clear();
  // Answers kept now, those past their time included until they are asked for or give way.
  size_t size() const;
  size_t bytes() const;

 private:
  using Methods = absl::flat_hash_map<const Method*, MethodCache*>;

  MethodCache* ForMethod(const FilterCall& call);

  // Only grows, so that what a call has found stays. Owns nothing, since threads keep what they
  // have read.
  SnapshotCell<Methods> methods_;
  absl::Mutex mutex_;  // one writer at a time
  std::vector<std::unique_ptr<MethodCache>> owned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_FILTER_CACHE_FILTER_H_
