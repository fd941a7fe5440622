#include "bench/sim/server.h"

#include <cmath>
#include <utility>

namespace marpc::sim {
namespace {

void Answer(SimulatedRequest& request, AttemptOutcome outcome) {
  if (!request.given_up) std::move(request.done)(std::move(outcome));
}

AttemptOutcome Refused(absl::Status status, AttemptOutcome::Source source) {
  AttemptOutcome outcome;
  outcome.status = std::move(status);
  outcome.source = source;
  outcome.surely_not_sent = true;
  return outcome;
}

}  // namespace

Server::Server(EventQueue& events, const ServerSettings& settings, uint64_t seed)
    : events_(events), settings_(settings), random_(seed) {}

void Server::Arrive(std::shared_ptr<SimulatedRequest> request) {
  AttemptOutcome refusal;
  if (condition_ == Condition::kDead) {
    refusal =
        Refused(absl::UnavailableError("connection refused"), AttemptOutcome::Source::kNetwork);
  } else if (queue_.size() >= settings_.max_queued) {
    refusal = Refused(absl::ResourceExhaustedError("overloaded"), AttemptOutcome::Source::kPeer);
  } else {
    queue_.push_back(std::move(request));
    return StartWork();
  }
  events_.After(2 * kNetwork, [request = std::move(request), refusal]() mutable {
    Answer(*request, std::move(refusal));
  });
}

void Server::Become(Condition condition) {
  condition_ = condition;
  if (condition == Condition::kDead) {
    for (const auto& lost : queue_) {
      events_.After(kNetwork, [lost] {
        AttemptOutcome outcome;
        outcome.status = absl::UnavailableError("connection broken");
        outcome.source = AttemptOutcome::Source::kNetwork;
        Answer(*lost, std::move(outcome));
      });
    }
    queue_.clear();
  }
  StartWork();
}

void Server::StartWork() {
  while (condition_ == Condition::kUp && busy_ < settings_.workers && !queue_.empty()) {
    ++busy_;
    events_.After(DrawWork() + 2 * kNetwork, [this, request = std::move(queue_.front())] {
      --busy_;
      Answer(*request, AttemptOutcome());
      StartWork();
    });
    queue_.pop_front();
  }
}

absl::Duration Server::DrawWork() {
  if (random_.Uniform() < settings_.stragglers) return settings_.straggler_takes;
  return settings_.least - settings_.mean_extra * std::log(1 - random_.Uniform());
}

}  // namespace marpc::sim
