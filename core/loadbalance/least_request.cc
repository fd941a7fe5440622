#include "marpc/loadbalance/least_request.h"

#include "marpc/loadbalance/best_of_few.h"

namespace marpc {
namespace {

struct CallsUnderWay {
  double operator()(const LiveInstance& instance, double inverse_share, MonotonicTime) const {
    return instance.load().in_flight() * inverse_share;
  }
};

class InFlightListener final : public AttemptListener {
 public:
  void OnBegin(LiveInstance& instance) const override { instance.load().Begin(); }
  void OnEnd(LiveInstance& instance, const AttemptEnd&, MonotonicTime) const override {
    instance.load().End();
  }
};

}  // namespace

LeastRequest::LeastRequest(int choices)
    : choices_(choices), listener_(std::make_shared<InFlightListener>()) {}

std::unique_ptr<Picker> LeastRequest::Build(absl::string_view, CandidateList candidates) {
  return std::make_unique<BestOfFewPicker<CallsUnderWay>>(CallsUnderWay(), choices_, listener_,
                                                          candidates);
}

}  // namespace marpc
