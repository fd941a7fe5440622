#include "marpc/loadbalance/hash_ring.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace marpc {
namespace {

uint32_t PositionOf(uint64_t member, uint32_t point) {
  return static_cast<uint32_t>(MixBits(member + point) >> 32);
}

// By the median, which one weight that changes does not move: the others keep their points then.
double PointsPerWeight(absl::Span<const HashRing::Member> members, const RingSettings& settings) {
  double sum = 0;
  std::vector<uint32_t> weights;
  weights.reserve(members.size());
  for (const HashRing::Member& member : members) {
    sum += member.weight;
    weights.push_back(member.weight);
  }
  const auto median = weights.begin() + static_cast<std::ptrdiff_t>(weights.size() / 2);
  std::nth_element(weights.begin(), median, weights.end());
  // A few that are much heavier than the rest do not blow the ring up.
  const double most = std::min<double>(settings.max_points,
                                       4.0 * settings.points * static_cast<double>(members.size()));
  return std::min(settings.points / static_cast<double>(*median), most / sum);
}

// A member's points are the first ones of its own endless series: a change of their number adds or
// takes away a few at its end.
std::vector<uint32_t> PointsOf(absl::Span<const HashRing::Member> members,
                               const RingSettings& settings) {
  const double per_weight = PointsPerWeight(members, settings);
  std::vector<uint32_t> points;
  points.reserve(members.size());
  for (const HashRing::Member& member : members) {
    points.push_back(std::max(1L, std::lround(per_weight * member.weight)));
  }
  return points;
}

}  // namespace

HashRing::HashRing(absl::Span<const Member> members, const RingSettings& settings) {
  if (members.empty()) return;
  const std::vector<uint32_t> points = PointsOf(members, settings);
  const size_t size = std::accumulate(points.begin(), points.end(), size_t{0});
  // One pass to count, one to put each in its bucket, which holds two on average.
  const int bits = std::clamp<int>(std::bit_width(size / 2), 1, 31);
  shift_ = 32 - bits;
  bucket_starts_.assign((size_t{1} << bits) + 1, 0);
  for (size_t i = 0; i < members.size(); ++i) {
    for (uint32_t k = 0; k < points[i]; ++k) {
      ++bucket_starts_[(PositionOf(members[i].hash, k) >> shift_) + 1];
    }
  }
  std::partial_sum(bucket_starts_.begin(), bucket_starts_.end(), bucket_starts_.begin());
  std::vector<uint32_t> next(bucket_starts_.begin(), bucket_starts_.end() - 1);
  positions_.resize(size);
  owners_.resize(size);
  for (size_t i = 0; i < members.size(); ++i) {
    for (uint32_t k = 0; k < points[i]; ++k) {
      const uint32_t position = PositionOf(members[i].hash, k);
      const uint32_t first = bucket_starts_[position >> shift_];
      uint32_t at = next[position >> shift_]++;
      // Of two at one place the smaller hash comes first, whatever the order of the members.
      while (at > first &&
             (positions_[at - 1] > position || (positions_[at - 1] == position &&
                                                members[owners_[at - 1]].hash > members[i].hash))) {
        positions_[at] = positions_[at - 1];
        owners_[at] = owners_[at - 1];
        --at;
      }
      positions_[at] = position;
      owners_[at] = static_cast<uint32_t>(i);
    }
  }
}

}  // namespace marpc
