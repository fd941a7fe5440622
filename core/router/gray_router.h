// Sends a share of the calls to the gray instances.
//
// Ratio 0 and 100 are exact; in between, a call draws 0..99 once and goes gray when the draw is
// below the ratio. Without gray instances all calls go to the normal ones and the reverse, without
// a draw. A retry may leave gray for normal when no gray instance is untried; it never enters gray.
#ifndef MARPC_ROUTER_GRAY_ROUTER_H_
#define MARPC_ROUTER_GRAY_ROUTER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "marpc/config/settings.h"
#include "marpc/router/router.h"

namespace marpc {

class GrayRouter final : public Router {
 public:
  static constexpr int kNormal = 0;
  static constexpr int kGray = 1;

  // InvalidArgument for a ratio outside 0..100.
  static absl::StatusOr<std::unique_ptr<GrayRouter>> Create(const GrayRouterSettings& settings);

  absl::string_view name() const override { return "gray"; }
  int order() const override { return 10; }
  std::unique_ptr<RouteTable> Build(CandidateList candidates) override;

 private:
  explicit GrayRouter(int ratio) : ratio_(ratio) {}
  const int ratio_;
};

}  // namespace marpc

#endif  // MARPC_ROUTER_GRAY_ROUTER_H_
