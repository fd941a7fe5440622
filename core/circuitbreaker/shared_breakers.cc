#include "marpc/circuitbreaker/shared_breakers.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
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

SharedBreakers::Votes SharedBreakers::ReadVotes(const std::vector<std::string>& names) {
  Votes votes;
  for (const std::string& name : names) {
    if (votes.size() < BreakerVotes::kMaxVotes && IsOurs(name)) {
      votes.emplace(absl::HashOf(name), name);
    } else {
      ++bad_votes_;
    }
  }
  return votes;
}

void SharedBreakers::Forget(MonotonicTime gone_before) {
  std::erase_if(known_, [&](const auto& one) {
    if (one.second.gone_since >= gone_before) return false;
    kept_ -= one.second.votes.size();
    return true;
  });
}

bool SharedBreakers::MakeRoom(const std::string& consumer, size_t votes) {
  const auto fits = [&] {
    const auto known = known_.find(consumer);
    const bool is_new = known == known_.end();
    const size_t others = kept_ - (is_new ? 0 : known->second.votes.size());
    return others + votes <= kMaxKept && (!is_new || known_.size() < kMaxVoters);
  };
  if (fits()) return true;
  Forget(MonotonicTime::InfiniteFuture());
  return fits();
}

std::vector<SharedBreakers::Verdict> SharedBreakers::OnConsumers(
    const Consumers& consumers, const std::vector<std::string>& own, MonotonicTime now) {
  Forget(now - kMemory);
  for (auto& [consumer, known] : known_) {
    known.gone_since = consumers.contains(consumer) ? MonotonicTime::InfiniteFuture()
                                                    : std::min(known.gone_since, now);
  }
  absl::flat_hash_map<Fingerprint, int> votes;
  std::map<absl::string_view, Fingerprint> voted_anew;
  for (const auto& [consumer, names] : consumers) {
    const Votes its = ReadVotes(consumer == self_.consumer ? own : names);
    const auto before = known_.find(consumer);
    if (!its.empty() && !MakeRoom(consumer, its.size())) {
      bad_votes_ += its.size();
      continue;
    }
    std::vector<Fingerprint> former;
    if (before != known_.end()) {
      former = std::move(before->second.votes);
      kept_ -= former.size();
      known_.erase(before);
    }
    if (its.empty()) continue;
    Known& known = known_[consumer];
    for (const auto& [fingerprint, name] : its) {
      ++votes[fingerprint];
      known.votes.push_back(fingerprint);
      if (!std::binary_search(former.begin(), former.end(), fingerprint)) {
        voted_anew.emplace(name, fingerprint);
      }
    }
    kept_ += its.size();
  }

  std::vector<Verdict> verdicts;
  const int needed = Needed(consumers.size());
  for (const auto& [name, fingerprint] : voted_anew) {
    const int its = votes[fingerprint];
    if (its < needed) continue;
    verdicts.push_back({std::string(name), its, needed, static_cast<int>(consumers.size())});
  }
  return verdicts;
}

}  // namespace marpc
