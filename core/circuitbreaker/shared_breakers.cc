#include "marpc/circuitbreaker/shared_breakers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/strip.h"

namespace marpc {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(10);
// So long a consumer that has vanished is remembered.
constexpr absl::Duration kMemory = absl::Hours(1);

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

void SharedBreakers::OnTransition(absl::string_view breaker, const BreakerTransition& transition) {
  const auto vote = votes_.find(breaker);
  switch (transition.to) {
    case BreakerState::kHalfOpen:
      return;
    case BreakerState::kOpen: {
      const MonotonicTime ends = transition.at + (transition.wait * 2 + kGrace);
      if (vote != votes_.end() && transition.from == BreakerState::kHalfOpen) {
        vote->second.ends = ends;
      } else if (vote == votes_.end() && IsOwnEvidence(transition.reason)) {
        votes_.emplace(std::string(breaker), Vote{next_number_++, ends});
        first_end_ = std::min(first_end_, ends);
        changed_ = true;
      }
      return;
    }
    default:
      if (vote == votes_.end()) return;
      votes_.erase(vote);
      changed_ = true;
  }
}

std::vector<std::string> SharedBreakers::Votes() const {
  std::vector<std::pair<uint64_t, std::string>> votes;
  votes.reserve(votes_.size());
  for (const auto& [name, vote] : votes_) votes.emplace_back(vote.number, name);
  // The oldest ones, so that what is given out does not change with every one that has no room.
  if (votes.size() > kMaxVotes) {
    std::nth_element(votes.begin(), votes.begin() + kMaxVotes, votes.end());
    votes.resize(kMaxVotes);
  }
  std::vector<std::string> names;
  names.reserve(votes.size());
  for (auto& [number, name] : votes) names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

MonotonicTime SharedBreakers::next_write() const {
  return changed_ ? may_write_at_ : std::max(first_end_, may_write_at_);
}

std::optional<std::vector<std::string>> SharedBreakers::TakeVotes(MonotonicTime now) {
  if (now < next_write()) return std::nullopt;
  std::erase_if(votes_, [&](const auto& vote) { return vote.second.ends <= now; });
  first_end_ = MonotonicTime::InfiniteFuture();
  for (const auto& [name, vote] : votes_) first_end_ = std::min(first_end_, vote.ends);
  changed_ = false;
  std::vector<std::string> votes = Votes();
  if (votes == written_) return std::nullopt;
  written_ = votes;
  may_write_at_ = now + settings_.write_interval;
  return votes;
}

bool SharedBreakers::IsOurs(absl::string_view breaker) const {
  absl::string_view rest = breaker;
  if (!absl::ConsumePrefix(&rest, self_.service)) return false;
  return rest.empty() || rest[0] == '/' || rest[0] == '@';
}

int SharedBreakers::Needed(size_t consumers) const {
  const int share = static_cast<int>((consumers * settings_.quorum + 99) / 100);
  return std::max(settings_.min_consumers, share);
}

std::set<std::string> SharedBreakers::ReadVotes(const std::vector<std::string>& names) {
  std::set<std::string> votes;
  for (const std::string& name : names) {
    if (votes.size() < kMaxVotes && IsOurs(name)) {
      votes.insert(name);
    } else {
      ++bad_votes_;
    }
  }
  return votes;
}

std::vector<SharedBreakers::Verdict> SharedBreakers::OnConsumers(const Consumers& consumers,
                                                                 MonotonicTime now) {
  std::erase_if(known_, [&](const auto& one) {
    const MonotonicTime since = one.second.gone_since;
    return !since.is_infinite() && now - since > kMemory;
  });
  for (auto& [consumer, known] : known_) {
    if (!consumers.contains(consumer)) known.gone_since = std::min(known.gone_since, now);
  }
  std::map<std::string, int> votes;
  std::set<std::string> voted_anew;
  for (const auto& [consumer, names] : consumers) {
    std::set<std::string> its = ReadVotes(consumer == self_.consumer ? Votes() : names);
    Known& known = known_[consumer];
    for (const std::string& name : its) {
      ++votes[name];
      if (!known.votes.contains(name)) voted_anew.insert(name);
    }
    known.votes = std::move(its);
    known.gone_since = MonotonicTime::InfiniteFuture();
  }

  std::vector<Verdict> verdicts;
  const int needed = Needed(consumers.size());
  for (const std::string& name : voted_anew) {
    if (votes[name] < needed) continue;
    verdicts.push_back({name, votes[name], needed, static_cast<int>(consumers.size())});
  }
  return verdicts;
}

}  // namespace marpc
