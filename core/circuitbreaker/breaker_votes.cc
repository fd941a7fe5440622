#include "marpc/circuitbreaker/breaker_votes.h"

#include <algorithm>
#include <utility>

namespace marpc {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(10);

// Did this consumer's own calls or probes open it?
bool IsOwnEvidence(BreakerReason reason) {
  switch (reason) {
    case BreakerReason::kFaultLimit:
    case BreakerReason::kConsecutiveFailures:
    case BreakerReason::kFailureRate:
    case BreakerReason::kSlowCallRate:
    case BreakerReason::kFailedCalls:
    case BreakerReason::kProbesFailed:
      return true;
    default:
      return false;
  }
}

}  // namespace

void BreakerVotes::OnTransition(absl::string_view breaker, const BreakerTransition& transition) {
  const auto vote = votes_.find(breaker);
  const bool voted = vote != votes_.end();
  switch (transition.to) {
    case BreakerState::kHalfOpen:
      // A probe that is late, and fails, must find the vote still there.
      if (voted) {
        Vote& its = vote->second;
        its.ends = std::max(its.ends, transition.at + (its.wait + kGrace));
      }
      return;
    case BreakerState::kOpen: {
      const MonotonicTime ends = transition.at + (transition.wait * 2 + kGrace);
      if (voted && transition.from == BreakerState::kHalfOpen) {
        vote->second.wait = transition.wait;
        vote->second.ends = ends;
      } else if (!voted && IsOwnEvidence(transition.reason)) {
        votes_.emplace(std::string(breaker), Vote{next_number_++, transition.wait, ends});
        changed_ = true;
      } else {
        return;
      }
      first_end_ = std::min(first_end_, ends);
      return;
    }
    default:
      if (!voted) return;
      votes_.erase(vote);
      changed_ = true;
  }
}

void BreakerVotes::Erase(const std::set<std::string>& breakers) {
  for (const std::string& breaker : breakers) {
    if (votes_.erase(breaker) > 0) changed_ = true;
  }
}

std::vector<std::string> BreakerVotes::All() const {
  std::vector<std::string> names;
  names.reserve(votes_.size());
  for (const auto& [name, vote] : votes_) names.push_back(name);
  return names;
}

std::vector<std::string> BreakerVotes::List() const {
  // The oldest ones, so that what is given out does not change with every one that has no room.
  std::vector<std::pair<uint64_t, const std::string*>> votes;
  votes.reserve(votes_.size());
  for (const auto& [name, vote] : votes_) votes.emplace_back(vote.number, &name);
  std::sort(votes.begin(), votes.end());
  std::vector<std::string> names;
  size_t bytes = 0;
  for (const auto& [number, name] : votes) {
    bytes += name->size();
    if (names.size() == kMaxVotes || bytes > kMaxBytes) break;
    names.push_back(*name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

MonotonicTime BreakerVotes::next_write() const {
  return changed_ ? may_write_at_ : std::max(first_end_, may_write_at_);
}

std::optional<std::vector<std::string>> BreakerVotes::Take(MonotonicTime now) {
  if (now < next_write()) return std::nullopt;
  std::erase_if(votes_, [&](const auto& vote) { return vote.second.ends <= now; });
  first_end_ = MonotonicTime::InfiniteFuture();
  for (const auto& [name, vote] : votes_) first_end_ = std::min(first_end_, vote.ends);
  changed_ = false;
  std::vector<std::string> list = List();
  left_out_ = votes_.size() - list.size();
  if (list == written_) return std::nullopt;
  written_ = list;
  may_write_at_ = now + write_interval_;
  return list;
}

void BreakerVotes::OnNotWritten() {
  written_.reset();
  changed_ = true;
}

}  // namespace marpc
