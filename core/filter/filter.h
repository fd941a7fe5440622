// Filters see a call before it is decided and after it was answered: mock, cache, or one's own.
//
//   class Audit : public marpc::Filter {
//    public:
//     absl::string_view name() const override { return "audit"; }
//     int order() const override { return 20; }
//     Verdict Before(marpc::FilterCall& call) override { return Verdict::Continue(); }
//     void After(marpc::FilterCall& call, const absl::Status& status) override { ... }
//   };
//   marpc::ConsumerOptions options;
//   options.filters.push_back(std::make_shared<Audit>());
//
// Before() runs in ascending order (equal orders as they were added), After() in the reverse one. A
// filter that answers ends the call at once: no further filter runs, no After(), no breaker, no
// instance. After() sees answers of the provider, business errors included; a call that was lost on
// the way gets Abandoned() instead.
//
// A filter should not throw. Before() that does fails the call with INTERNAL, naming the filter;
// what After() or Abandoned() throws is logged, and the call's result stands.
#ifndef MARPC_FILTER_FILTER_H_
#define MARPC_FILTER_FILTER_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "marpc/base/clock.h"
#include "marpc/base/method.h"
#include "marpc/config/settings.h"
#include "marpc/consumer/call_options.h"
#include "marpc/context/rpc_context.h"
#include "marpc/filter/pending_answer.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace marpc {

// One call as its filters see it.
struct FilterCall {
  const Method& method;
  const google::protobuf::MessageLite& request;
  google::protobuf::MessageLite* reply;
  const RpcContext& context;
  const MethodSettings& settings;
  MonotonicTime now;
  // The whole call ends then at the latest. Infinite: none.
  MonotonicTime deadline;
  // The filter's own, from Before() to After() or Abandoned().
  std::shared_ptr<void>& state;
  // Abandoned(): the failure stands for want of this call's own time; another call for the same
  // would have tried again.
  bool out_of_time = false;
};

// Called by many threads at once. Must not block.
class Filter {
 public:
  struct Verdict {
    enum class Kind { kContinue, kAnswer, kWait, kFail };
    Kind kind = Kind::kContinue;
    absl::Status status;                                      // kAnswer, kFail
    CallReport::Answer answer = CallReport::Answer::kRemote;  // kAnswer: who gave it
    std::shared_ptr<PendingAnswer> pending;                   // kWait

    static Verdict Continue() { return {}; }
    // The reply is filled, or `status` says why not.
    static Verdict Answer(absl::Status status, CallReport::Answer by) {
      return {Kind::kAnswer, std::move(status), by, nullptr};
    }
    // Nobody answers: the call fails with `status`, unless its fallback knows better.
    static Verdict Fail(absl::Status status) {
      return {Kind::kFail, std::move(status), CallReport::Answer::kNone, nullptr};
    }
    // Before() is asked again when `pending` is ready.
    static Verdict Wait(std::shared_ptr<PendingAnswer> pending) {
      return {Kind::kWait, {}, {}, std::move(pending)};
    }
  };

  virtual ~Filter() = default;
  virtual absl::string_view name() const = 0;
  virtual int order() const { return 0; }
  // Asked when a method's policy is built: a filter that is off for a method costs its calls
  // nothing.
  virtual bool AppliesTo(const Method&, const MethodSettings&) const { return true; }
  virtual Verdict Before(FilterCall& call) = 0;
  virtual void After(FilterCall&, const absl::Status&) {}
  virtual void Abandoned(FilterCall&, const absl::Status&) {}
};

}  // namespace marpc

#endif  // MARPC_FILTER_FILTER_H_
