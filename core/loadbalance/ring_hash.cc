#include "marpc/loadbalance/ring_hash.h"

namespace marpc {

std::unique_ptr<Picker> RingHash::Build(absl::string_view pool, CandidateList candidates) {
  return std::make_unique<HashPicker<HashRing>>(settings_, bounds_.Of(pool), candidates);
}

}  // namespace marpc
