// Calls of one filter, without a session around it.
#ifndef MARPC_TESTS_FILTER_FILTER_CALL_FIXTURE_H_
#define MARPC_TESTS_FILTER_FILTER_CALL_FIXTURE_H_

#include <memory>
#include <string>

#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/clock.h"
#include "marpc/filter/filter.h"

namespace marpc::testing {

// One call as the session would make it.
class FilterUse {
 public:
  FilterUse(Filter& filter, const Method& method, const MethodSettings& settings,
            const SimulatedClock& clock, const std::string& question, RpcContext context = {})
      : filter_(filter),
        method_(method),
        settings_(settings),
        clock_(clock),
        context_(std::move(context)) {
    request_.set_value(question);
  }

  Filter::Verdict Before() {
    FilterCall call = View();
    return filter_.Before(call);
  }
  // The provider answers with `reply`.
  void Answered(const std::string& reply) {
    reply_.set_value(reply);
    Answered(absl::OkStatus());
  }
  void Answered(const absl::Status& status) {
    FilterCall call = View();
    filter_.After(call, status);
  }
  void Lost(const absl::Status& status) {
    FilterCall call = View();
    filter_.Abandoned(call, status);
  }
  // The session goes without a word.
  void Drop() { state_ = nullptr; }

  const std::string& reply() const { return reply_.value(); }
  // The failure that Lost() tells of stands for want of this call's time.
  void set_out_of_time() { out_of_time_ = true; }
  void set_deadline(MonotonicTime deadline) { deadline_ = deadline; }

 private:
  FilterCall View() {
    return {method_,      request_,  &reply_, context_,    settings_,
            clock_.Now(), deadline_, state_,  out_of_time_};
  }

  Filter& filter_;
  const Method& method_;
  const MethodSettings& settings_;
  const SimulatedClock& clock_;
  const RpcContext context_;
  google::protobuf::StringValue request_;
  google::protobuf::StringValue reply_;
  MonotonicTime deadline_ = MonotonicTime::InfiniteFuture();
  std::shared_ptr<void> state_;
  bool out_of_time_ = false;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_FILTER_FILTER_CALL_FIXTURE_H_
