#include "marpc/loadbalance/maglev.h"

#include "marpc/loadbalance/maglev_table.h"

namespace marpc {

std::unique_ptr<Picker> Maglev::Build(absl::string_view pool, CandidateList candidates) {
  return std::make_unique<HashPicker<MaglevTable>>(settings_, bounds_.Of(pool), candidates);
}

}  // namespace marpc
