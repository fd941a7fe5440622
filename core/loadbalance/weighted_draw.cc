#include "marpc/loadbalance/weighted_draw.h"

#include <algorithm>
#include <numeric>

namespace marpc {

WeightedDraw::WeightedDraw(absl::Span<const uint32_t> weights) : size_(weights.size()) {
  if (std::all_of(weights.begin(), weights.end(), [&](uint32_t w) { return w == weights[0]; })) {
    return;
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  // Each weight by the mean: what a column holds is 1.
  std::vector<double> left(size_);
  for (size_t i = 0; i < size_; ++i) left[i] = weights[i] * static_cast<double>(size_) / sum;
  columns_.resize(size_, Column{1, 0});
  std::vector<uint32_t> small;
  std::vector<uint32_t> large;
  for (size_t i = 0; i < size_; ++i) (left[i] < 1 ? small : large).push_back(i);
  while (!small.empty() && !large.empty()) {
    const uint32_t poor = small.back();
    const uint32_t rich = large.back();
    small.pop_back();
    columns_[poor] = {static_cast<float>(left[poor]), rich};
    left[rich] -= 1 - left[poor];
    if (left[rich] >= 1) continue;
    large.pop_back();
    small.push_back(rich);
  }
  // What is left over is full but for rounding.
}

size_t WeightedDraw::DrawOther(size_t first, RandomSource& random) const {
  if (size_ == 1) return first;
  if (columns_.empty()) {
    const size_t drawn = random.Below(size_ - 1);
    return drawn < first ? drawn : drawn + 1;
  }
  size_t drawn = first;
  for (int i = 0; i < 4 && drawn == first; ++i) drawn = Draw(random);
  return drawn;
}

}  // namespace marpc
