#include "marpc/router/gray_router.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

class GrayTable final : public RouteTable {
 public:
  GrayTable(int ratio, CandidateList candidates) : ratio_(ratio) {
    for (const Candidate* candidate : candidates) {
      pools_[candidate->gray ? GrayRouter::kGray : GrayRouter::kNormal].push_back(candidate);
    }
  }

  absl::Span<const Pool> pools() const override { return pools_; }

  int Choose(const RouteQuery& query, int remembered) const override {
    if (pools_[GrayRouter::kGray].empty()) return GrayRouter::kNormal;
    if (pools_[GrayRouter::kNormal].empty()) return GrayRouter::kGray;
    if (remembered >= 0) return remembered;
    return query.random.Below(100) < static_cast<uint64_t>(ratio_) ? GrayRouter::kGray
                                                                   : GrayRouter::kNormal;
  }

  int Fallback(int pool) const override {
    return pool == GrayRouter::kGray ? GrayRouter::kNormal : -1;
  }

  std::string Describe(int pool) const override {
    return absl::StrCat(pool == GrayRouter::kGray ? "gray" : "normal", " side of ratio ", ratio_,
                        " %");
  }

 private:
  const int ratio_;
  std::array<Pool, 2> pools_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrayRouter>> GrayRouter::Create(const GrayRouterSettings& settings) {
  if (settings.ratio < 0 || settings.ratio > 100) {
    return absl::InvalidArgumentError(
        absl::StrCat("router.gray.ratio ", settings.ratio, " is not a percentage from 0 to 100"));
  }
  return std::unique_ptr<GrayRouter>(new GrayRouter(settings.ratio));
}

std::unique_ptr<RouteTable> GrayRouter::Build(CandidateList candidates) {
  return std::make_unique<GrayTable>(ratio_, candidates);
}

}  // namespace marpc
