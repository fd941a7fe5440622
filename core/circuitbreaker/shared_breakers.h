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

#include <cstdint>
#include <map>
#include <set>
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
//
// One per service. Not thread-safe.
class SharedBreakers {
 public:
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
  // Since the start: names that are none of this service's breakers, or too many, and were ignored.
  uint64_t bad_votes() const { return bad_votes_; }

 private:
  struct Known {
    std::set<std::string> votes;
    MonotonicTime gone_since = MonotonicTime::InfiniteFuture();
  };
  bool IsOurs(absl::string_view breaker) const;
  int Needed(size_t consumers) const;
  std::set<std::string> ReadVotes(const std::vector<std::string>& names);

  const SharedBreakerSettings settings_;
  const Self self_;
  std::map<std::string, Known> known_;
  uint64_t bad_votes_ = 0;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_SHARED_BREAKERS_H_
