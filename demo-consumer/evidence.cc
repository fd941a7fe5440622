#include "demo-consumer/evidence.h"

namespace demo {

bool Evidence::Expect(bool holds, const std::string& claim) {
  // A loop may find the same fault a thousand times.
  constexpr size_t kMostFaults = 10;
  if (!holds && faults_.size() < kMostFaults) faults_.push_back(claim);
  return holds;
}

bool Evidence::ExpectOk(const absl::Status& status, const std::string& what) {
  return Expect(status.ok(), absl::StrCat(what, ": ", InWords(status)));
}

std::string InWords(const absl::Status& status) {
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
}

int64_t Sum(const CountByInstance& counts) {
  int64_t sum = 0;
  for (const auto& [instance, count] : counts) sum += count;
  return sum;
}

}  // namespace demo
