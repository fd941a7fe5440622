// Instances on a ring of hashes: a key belongs to the one whose point comes next.
//
// As in Karger et al. (1997), a joining instance takes keys from the others and a leaving one gives
// them its own; no other key moves. Few points a piece would make the shares uneven: the key is
// looked up at several places and goes where the next point is nearest (Appleton and O'Reilly,
// "Multi-probe consistent hashing", 2015). With p places and v points a piece the shares spread by
// 1 / sqrt(v (2p - 1)), as with 2p - 1 times as many points and one place.
#ifndef MARPC_LOADBALANCE_HASH_RING_H_
#define MARPC_LOADBALANCE_HASH_RING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "marpc/base/stable_hash.h"
#include "marpc/config/load_balance_settings.h"

namespace marpc {

// Immutable. Two of the same members, in whatever order, agree on every key.
class HashRing {
 public:
  using Settings = RingSettings;

  // What a member is known by on the ring, and its weight, above 0.
  struct Member {
    uint64_t hash;
    uint32_t weight;
  };
  HashRing(absl::Span<const Member> members, const RingSettings& settings);

  // The members that a key goes to, the first one first; they repeat. There must be one.
  class Way {
   public:
    Way(const HashRing& ring, uint64_t key) : ring_(ring), at_(ring.PointOf(key)) {}
    size_t member() const { return ring_.owners_[at_]; }
    void GoOn() { at_ = at_ + 1 == ring_.owners_.size() ? 0 : at_ + 1; }

   private:
    const HashRing& ring_;
    size_t at_;
  };

  size_t points() const { return positions_.size(); }

 private:
  static constexpr uint64_t kProbes = 5;
  static constexpr uint64_t kProbeStep = 0xd1342543de82ef95;

  // The first point at or after `position`.
  size_t Next(uint32_t position) const {
    size_t at = bucket_starts_[position >> shift_];
    const size_t size = positions_.size();
    while (at < size && positions_[at] < position) ++at;
    return at == size ? 0 : at;
  }
  size_t PointOf(uint64_t key) const {
    size_t nearest = 0;
    uint32_t least = UINT32_MAX;
    for (uint64_t i = 0; i < kProbes; ++i) {
      const auto position = static_cast<uint32_t>(MixBits(key + i * kProbeStep) >> 32);
      const size_t next = Next(position);
      const uint32_t distance = positions_[next] - position;
      if (distance <= least) {
        least = distance;
        nearest = next;
      }
    }
    return nearest;
  }

  // By position; the member at each.
  std::vector<uint32_t> positions_;
  std::vector<uint32_t> owners_;
  // The first point of each stretch of the ring, of which there are about half as many as points.
  std::vector<uint32_t> bucket_starts_;
  int shift_ = 31;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_HASH_RING_H_
