// The order of the turns in a rotation by weights.
#ifndef MARPC_LOADBALANCE_TURN_SCHEDULE_H_
#define MARPC_LOADBALANCE_TURN_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace marpc {

// Indices of `weights` in the order of their turns: each as often as its weight says, its turns as
// far apart as can be, those of equal weight one after the other. Weights 5, 1, 1: a b a a a c a.
//
// One round has exactly as many turns as the weights, without their common divisor, add up to.
// Where these are more than 65536 and 64 an index, it has that many, and shares are rounded to
// whole turns; every index has one at least. All weights above 0. O(turns).
std::vector<uint32_t> TurnSchedule(absl::Span<const uint32_t> weights);

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_TURN_SCHEDULE_H_
