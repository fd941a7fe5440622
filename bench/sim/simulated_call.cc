#include "bench/sim/simulated_call.h"

#include <algorithm>
#include <utility>

namespace marpc::sim {

void SimulatedCall::Start(EventQueue& events, const Network& network, RandomSource& random,
                          const SnapshotCell<ServiceState>& cell, const CallInput& input,
                          Done done) {
  const auto call =
      std::make_shared<SimulatedCall>(events, network, random, cell, input, std::move(done));
  call->Take([&](const Moment& moment) { return call->session_.Start(moment); });
}

SimulatedCall::SimulatedCall(EventQueue& events, const Network& network, RandomSource& random,
                             const SnapshotCell<ServiceState>& cell, const CallInput& input,
                             Done done)
    : events_(events),
      network_(network),
      random_(random),
      done_(std::move(done)),
      session_(cell, input) {}

void SimulatedCall::Take(absl::FunctionRef<Step(const Moment&)> take) {
  Step step = take({events_.now(), random_});
  const uint64_t number = ++steps_;
  if (step.kind == Step::Kind::kDone) {
    for (const Attempt& loser : in_flight_) loser.request->given_up = true;
    in_flight_.clear();
    return std::move(done_)(std::move(step.status));
  }
  if (step.kind == Step::Kind::kWait) {
    events_.At(step.deadline, [self = shared_from_this()] {
      self->Take([&](const Moment& moment) { return self->session_.OnWaited(moment); });
    });
    return;
  }
  if (step.kind == Step::Kind::kAttempt) Begin(step);
  if (!step.hedge_at.is_infinite()) {
    events_.At(step.hedge_at, [self = shared_from_this(), number] {
      if (self->steps_ != number) return;
      self->Take([&](const Moment& moment) { return self->session_.OnHedgeTime(moment); });
    });
  }
}

void SimulatedCall::Begin(const Step& step) {
  const auto request = std::make_shared<SimulatedRequest>();
  const int number = step.attempt;
  in_flight_.push_back({number, request});
  request->done = [self = shared_from_this(), number](AttemptOutcome outcome) {
    self->End(number, std::move(outcome));
  };
  events_.At(step.deadline, [request] {
    AttemptOutcome outcome;
    outcome.status = absl::DeadlineExceededError("no answer in time");
    outcome.source = AttemptOutcome::Source::kNetwork;
    if (!request->given_up) std::move(request->done)(std::move(outcome));
  });
  network_(*step.instance, request);
}

void SimulatedCall::End(int attempt, AttemptOutcome outcome) {
  const auto it = std::find_if(in_flight_.begin(), in_flight_.end(),
                               [&](const Attempt& one) { return one.number == attempt; });
  // Its server may still be at it.
  it->request->given_up = true;
  in_flight_.erase(it);
  Take([&](const Moment& moment) {
    return session_.OnAttemptDone(attempt, std::move(outcome), moment);
  });
}

}  // namespace marpc::sim
