#include "marpc/circuitbreaker/shared_breakers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "marpc/circuitbreaker/breaker_votes.h"

namespace marpc {
namespace {

// So long a consumer that has vanished is remembered.
constexpr absl::Duration kMemory = absl::Hours(1);

}  // namespace

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
    if (votes.size() < BreakerVotes::kMaxVotes && IsOurs(name)) {
      votes.insert(name);
    } else {
      ++bad_votes_;
    }
  }
  return votes;
}

std::vector<SharedBreakers::Verdict> SharedBreakers::OnConsumers(
    const Consumers& consumers, const std::vector<std::string>& own, MonotonicTime now) {
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
    std::set<std::string> its = ReadVotes(consumer == self_.consumer ? own : names);
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
