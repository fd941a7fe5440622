// A hash that is the same in every process, on every machine and in every release: what consumers
// must agree on without talking to each other (which instance a key belongs to, which instances a
// consumer uses). absl::Hash is seeded anew in each process.
#ifndef MARPC_BASE_STABLE_HASH_H_
#define MARPC_BASE_STABLE_HASH_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace marpc {

// All of a number's bits in each of the result's.
constexpr uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Not for secrets: who wants two texts of the same hash finds them.
inline uint64_t StableHash(absl::string_view text) {
  uint64_t hash = MixBits(text.size());
  const char* at = text.data();
  size_t left = text.size();
  const auto take = [&](size_t bytes) {
    // Byte by byte, so that the order of bytes in a word does not matter.
    uint64_t word = 0;
    for (size_t i = 0; i < bytes; ++i) {
      word |= uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
    }
    hash = MixBits(hash ^ word);
    at += bytes;
    left -= bytes;
  };
  while (left >= 8) take(8);
  if (left > 0) take(left);
  return hash;
}

}  // namespace marpc

#endif  // MARPC_BASE_STABLE_HASH_H_
