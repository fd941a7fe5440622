// Draws the members of a pool by their weights, at the same cost however many there are.
#ifndef MARPC_LOADBALANCE_WEIGHTED_DRAW_H_
#define MARPC_LOADBALANCE_WEIGHTED_DRAW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "marpc/base/random.h"

namespace marpc {

// Walker's alias method, built as Vose does: every column of the table holds the share of its own
// index and, above a threshold, that of one other. Equal weights need no table. Immutable.
class WeightedDraw {
 public:
  // All weights above 0.
  explicit WeightedDraw(absl::Span<const uint32_t> weights);

  size_t size() const { return size_; }
  // An index; there must be one.
  size_t Draw(RandomSource& random) const {
    const double at = random.Uniform() * static_cast<double>(size_);
    const auto column = static_cast<size_t>(at);
    if (columns_.empty()) return column;
    const Column& one = columns_[column];
    return at - static_cast<double>(column) < one.own ? column : one.other;
  }
  // Another one than `first`, where that can be: of equal weights surely, else after a few draws.
  size_t DrawOther(size_t first, RandomSource& random) const;

 private:
  struct Column {
    float own;
    uint32_t other;
  };
  const size_t size_;
  std::vector<Column> columns_;  // empty: all weights are equal
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_WEIGHTED_DRAW_H_
