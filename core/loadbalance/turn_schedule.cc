#include "marpc/loadbalance/turn_schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace marpc {
namespace {

constexpr size_t kFewTurns = 1 << 16;
constexpr size_t kTurnsPerIndex = 64;

// How many turns each index has in a round.
std::vector<uint32_t> TurnsOf(absl::Span<const uint32_t> weights) {
  uint32_t divisor = 0;
  for (const uint32_t weight : weights) divisor = std::gcd(divisor, weight);
  std::vector<uint32_t> turns;
  turns.reserve(weights.size());
  for (const uint32_t weight : weights) turns.push_back(weight / divisor);
  const uint64_t sum = std::accumulate(turns.begin(), turns.end(), uint64_t{0});
  const size_t most = std::max(kFewTurns, kTurnsPerIndex * weights.size());
  if (sum <= most) return turns;
  const double scale = static_cast<double>(most) / static_cast<double>(sum);
  for (uint32_t& one : turns) one = std::max(1L, std::lround(one * scale));
  return turns;
}

struct Turn {
  double at;  // in [0, turns of a round)
  uint32_t index;
};

}  // namespace

std::vector<uint32_t> TurnSchedule(absl::Span<const uint32_t> weights) {
  const std::vector<uint32_t> turns = TurnsOf(weights);
  const size_t length = std::accumulate(turns.begin(), turns.end(), size_t{0});
  std::vector<uint32_t> by_turns(turns.size());
  std::iota(by_turns.begin(), by_turns.end(), 0);
  std::stable_sort(by_turns.begin(), by_turns.end(),
                   [&](uint32_t a, uint32_t b) { return turns[a] > turns[b]; });

  // The k-th of an index's turns stands at (k + phase) of its equal parts of the round. Indices of
  // equal weight have their phases evenly spread: together they are a round robin. A turn's place
  // in the schedule is its rank; since there is one turn a unit on average, a bucket a unit sorts
  // them in one pass.
  std::vector<uint32_t> bucket_ends(length + 1, 0);
  const auto for_each_turn = [&](auto visit) {
    for (size_t first = 0; first < by_turns.size();) {
      const uint32_t count = turns[by_turns[first]];
      size_t end = first;
      while (end < by_turns.size() && turns[by_turns[end]] == count) ++end;
      const double members = static_cast<double>(end - first);
      const double part = static_cast<double>(length) / count;
      for (size_t i = first; i < end; ++i) {
        const double phase = (static_cast<double>(i - first) + 0.5) / members;
        for (uint32_t k = 0; k < count; ++k) visit(Turn{(k + phase) * part, by_turns[i]});
      }
      first = end;
    }
  };
  const auto bucket_of = [&](const Turn& turn) {
    return std::min(static_cast<size_t>(turn.at), length - 1);
  };
  for_each_turn([&](const Turn& turn) { ++bucket_ends[bucket_of(turn) + 1]; });
  std::partial_sum(bucket_ends.begin(), bucket_ends.end(), bucket_ends.begin());
  std::vector<Turn> sorted(length);
  std::vector<uint32_t> next(bucket_ends.begin(), bucket_ends.end() - 1);
  for_each_turn([&](const Turn& turn) {
    const size_t bucket = bucket_of(turn);
    uint32_t at = next[bucket]++;
    // Those that stand at one place keep the order of their indices.
    while (at > bucket_ends[bucket] &&
           (sorted[at - 1].at > turn.at ||
            (sorted[at - 1].at == turn.at && sorted[at - 1].index > turn.index))) {
      sorted[at] = sorted[at - 1];
      --at;
    }
    sorted[at] = turn;
  });
  std::vector<uint32_t> schedule;
  schedule.reserve(length);
  for (const Turn& turn : sorted) schedule.push_back(turn.index);
  return schedule;
}

}  // namespace marpc
