// What the consumers of a service make of each other's open breakers: the rules. A consumer votes
// for those of its breakers that it has opened by what it met itself (breaker_votes.h); when enough
// consumers vote for one, the others open theirs.
//
//   SharedBreakers shared(settings, {"demo.HelloService", "me"});
//   for (const auto& verdict : shared.OnConsumers(list, votes.List(), now)) Open(verdict.breaker);
//
// docs/guide/circuit-breaking.md says what comes of it. Knows no threads and no I/O.
#ifndef MARPC_CIRCUITBREAKER_SHARED_BREAKERS_H_
#define MARPC_CIRCUITBREAKER_SHARED_BREAKERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "marpc/base/clock.h"
#include "marpc/config/breaker_settings.h"

namespace marpc {

// The rules:
//
// - A breaker opens at the vote by which `quorum` is reached, or at each one after it. A vote that
//   has stood before, and a quorum that is reached because consumers left, open nothing.
// - Who is gone and comes back within the hour with the same votes (a registry that was restarted)
//   has not voted anew.
// - Of each consumer that votes its votes are kept, 8 bytes each, and no more than kMaxVoters and
//   kMaxKept together: entries may be forged. Those who are gone make room; further votes are
//   ignored.
//
// One per service. Not thread-safe.
class SharedBreakers {
 public:
  static constexpr size_t kMaxVoters = 10'000;
  static constexpr size_t kMaxKept = 1'000'000;

  struct Self {
    std::string service;
    std::string consumer;  // as in Consumers
  };
  SharedBreakers(const SharedBreakerSettings& settings, Self self)
      : settings_(settings), self_(std::move(self)) {}

  // Of each consumer the breakers that it votes for. What is listed of this one is not read: it may
  // be older than `own`, which is known here.
  using Consumers = std::map<std::string, std::vector<std::string>>;
  struct Verdict {
    std::string breaker;
    int votes = 0;
    int needed = 0;
    int consumers = 0;
  };
  // Those to open, sorted by name.
  std::vector<Verdict> OnConsumers(const Consumers& consumers, const std::vector<std::string>& own,
                                   MonotonicTime now);
  // Those kept by now.
  size_t kept() const { return kept_; }
  size_t voters() const { return known_.size(); }
  // Since the start: names that are none of this service's breakers, or too many, and were ignored.
  uint64_t bad_votes() const { return bad_votes_; }

 private:
  // Of a breaker's name. That two of a million have the same one is a matter of 1 in 10^7.
  using Fingerprint = uint64_t;
  struct Known {
    std::vector<Fingerprint> votes;  // sorted
    MonotonicTime gone_since = MonotonicTime::InfiniteFuture();
  };
  bool IsOurs(absl::string_view breaker) const;
  int Needed(size_t consumers) const;
  // By fingerprint; the names are those of `names`.
  using Votes = std::map<Fingerprint, absl::string_view>;
  Votes ReadVotes(const std::vector<std::string>& names);
  void Forget(MonotonicTime gone_before);
  // Is there room for these votes of a consumer?
  bool MakeRoom(const std::string& consumer, size_t votes);

  const SharedBreakerSettings settings_;
  const Self self_;
  std::map<std::string, Known> known_;  // those who vote
  size_t kept_ = 0;                     // votes of all of them
  uint64_t bad_votes_ = 0;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_SHARED_BREAKERS_H_
