// Maglev's table (Eisenbud et al., "Maglev: a fast and reliable software network load balancer",
// 2016): each member has a permutation of the entries of its own and takes the first free one of it
// in its turn, until all are taken. Shares are even to the entry; when a member leaves, a few keys
// of others move besides its own (of ten members and 65537 entries, about 0.25 % of all).
#ifndef MARPC_LOADBALANCE_MAGLEV_TABLE_H_
#define MARPC_LOADBALANCE_MAGLEV_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "marpc/base/stable_hash.h"
#include "marpc/config/load_balance_settings.h"
#include "marpc/loadbalance/hash_ring.h"

namespace marpc {

// Immutable. Two of the same members, in whatever order, agree on every key.
class MaglevTable {
 public:
  using Settings = MaglevSettings;
  using Member = HashRing::Member;

  MaglevTable(absl::Span<const Member> members, const MaglevSettings& settings);

  // The members that a key goes to, the first one first; they repeat. There must be one.
  class Way {
   public:
    Way(const MaglevTable& table, uint64_t key) : table_(table), key_(MixBits(key)) {}
    size_t member() const {
      const auto wide = static_cast<unsigned __int128>(key_) * table_.owners_.size();
      return table_.owners_[static_cast<size_t>(wide >> 64)];
    }
    void GoOn() { key_ = MixBits(key_); }

   private:
    const MaglevTable& table_;
    uint64_t key_;
  };

  size_t size() const { return owners_.size(); }

 private:
  std::vector<uint32_t> owners_;  // the member of each entry
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_MAGLEV_TABLE_H_
