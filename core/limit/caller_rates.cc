#include "marpc/limit/caller_rates.h"

#include <functional>
#include <string_view>

namespace marpc {

CallerRates::CallerRates(double rate, absl::Duration window) : rate_(rate), window_(window) {}

std::shared_ptr<RateLimit> CallerRates::Of(absl::string_view caller, MonotonicTime now) {
  const size_t hash = std::hash<std::string_view>()({caller.data(), caller.size()});
  Shard& shard = shards_[hash % kShards];
  const auto make = [this] { return std::make_shared<RateLimit>(rate_, window_); };
  PlainMutexLock lock(&shard.mutex);
  const auto known = shard.callers.find(caller);
  if (known != shard.callers.end()) return known->second;
  if (shard.callers.size() >= kMostCallers / kShards && now >= shard.look_again_at) {
    shard.look_again_at = now + window_ / 4;
    std::erase_if(shard.callers, [&](const auto& one) { return one.second->taken(now) == 0; });
  }
  if (shard.callers.size() >= kMostCallers / kShards) {
    if (shard.others == nullptr) shard.others = make();
    return shard.others;
  }
  return shard.callers.emplace(std::string(caller), make()).first->second;
}

}  // namespace marpc
