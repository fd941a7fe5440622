#include "marpc/loadbalance/maglev_table.h"

#include <algorithm>
#include <limits>

namespace marpc {
namespace {

// With fewer, shares that are even to the entry are not even.
constexpr size_t kLeastEntries = 6;
constexpr uint32_t kFree = std::numeric_limits<uint32_t>::max();

bool IsPrime(size_t n) {
  if (n < 4) return n > 1;
  if (n % 2 == 0) return false;
  for (size_t i = 3; i * i <= n; i += 2) {
    if (n % i == 0) return false;
  }
  return true;
}

struct Turn {
  uint32_t member;
  // Of its permutation: where it stands, and how far it goes on.
  uint32_t at;
  uint32_t step;
  // What it has of a turn; 1 makes one. It begins with 1: the lightest, too, has an entry.
  float turn;
  float share;  // of a turn, in each round
};

}  // namespace

MaglevTable::MaglevTable(absl::Span<const Member> members, const MaglevSettings& settings) {
  if (members.empty()) return;
  size_t size = std::max(static_cast<size_t>(settings.table_size), kLeastEntries * members.size());
  while (!IsPrime(size)) ++size;
  uint32_t heaviest = 0;
  for (const Member& member : members) heaviest = std::max(heaviest, member.weight);
  std::vector<Turn> turns;
  turns.reserve(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    const uint64_t hash = members[i].hash;
    turns.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(hash % size),
                     static_cast<uint32_t>(MixBits(hash) % (size - 1) + 1), 1,
                     static_cast<float>(members[i].weight) / static_cast<float>(heaviest)});
  }
  std::sort(turns.begin(), turns.end(), [&](const Turn& a, const Turn& b) {
    return members[a.member].hash < members[b.member].hash;
  });
  owners_.assign(size, kFree);
  for (size_t taken = 0; taken < size;) {
    for (Turn& one : turns) {
      one.turn += one.share;
      if (one.turn < 1) continue;
      one.turn -= 1;
      while (owners_[one.at] != kFree) {
        one.at += one.step;
        if (one.at >= size) one.at -= size;
      }
      owners_[one.at] = one.member;
      if (++taken == size) break;
    }
  }
}

}  // namespace marpc
