// What the consumers of a service make of each other's open breakers: the rules. A consumer votes
// for those of its breakers that it has opened by what it met itself; when enough consumers vote
// for one, the others open theirs.
//
//   SharedBreakers shared(settings, {"demo.HelloService", "me", now});   // entered without votes
//   shared.OnTransition(name, transition);                       // of a breaker of our own
//   if (auto votes = shared.TakeVotes(now)) Write(*votes);       // at next_write()
//   for (const auto& verdict : shared.OnConsumers(list, now)) Open(verdict.breaker);
//
// docs/guide/circuit-breaking.md says what comes of it. Knows no threads and no I/O.
#ifndef MARPC_CIRCUITBREAKER_SHARED_BREAKERS_H_
#define MARPC_CIRCUITBREAKER_SHARED_BREAKERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "marpc/base/clock.h"
#include "marpc/circuitbreaker/breaker_events.h"
#include "marpc/config/breaker_settings.h"

namespace marpc {

// The rules:
//
// - A vote is cast when a breaker opens by its own calls or probes, never when others, or an
// operator, open
//   it: no echo. It stands until the breaker closes or is forced, through HALF_OPEN and renewed
//   openings, so that probes which fail are no news. A breaker that nobody calls does neither: its
//   vote ends when its wait has passed twice, and ten seconds.
// - A breaker opens at the vote by which `quorum` is reached, or at each one after it: a vote that
// has
//   stood before, and a quorum that is reached because consumers left, open nothing. Who is gone
//   and comes back within the hour with the same votes (a registry that was restarted) has not
//   voted anew.
// - A list of votes is given out at most once in `write_interval`, and only if it is another one.
//
// One per service. Not thread-safe.
class SharedBreakers {
 public:
  // The most names that one consumer gives out, and that are read of one.
  static constexpr size_t kMaxVotes = 1000;

  struct Self {
    std::string service;
    std::string consumer;      // as in Consumers
    MonotonicTime entered_at;  // without a vote; that was the first write
  };
  SharedBreakers(const SharedBreakerSettings& settings, Self self)
      : settings_(settings),
        self_(std::move(self)),
        may_write_at_(self_.entered_at + settings.write_interval) {}

  // --- this consumer's votes

  void OnTransition(absl::string_view breaker, const BreakerTransition& transition);
  // When TakeVotes() may have something to give. Infinite: not before the next transition.
  MonotonicTime next_write() const;
  // The breakers voted for, sorted, if they are to be written now.
  std::optional<std::vector<std::string>> TakeVotes(MonotonicTime now);
  // Votes that kMaxVotes leaves out.
  size_t left_out() const { return votes_.size() > kMaxVotes ? votes_.size() - kMaxVotes : 0; }

  // --- those of all, this one's included

  // Of each consumer the breakers that it votes for. What is listed of this one is not read: it may
  // be older than what is known here.
  using Consumers = std::map<std::string, std::vector<std::string>>;
  struct Verdict {
    std::string breaker;
    int votes = 0;
    int needed = 0;
    int consumers = 0;
  };
  // Those to open, sorted by name.
  std::vector<Verdict> OnConsumers(const Consumers& consumers, MonotonicTime now);
  // Since the start: names that are none of this service's breakers, or too many, and were ignored.
  uint64_t bad_votes() const { return bad_votes_; }

 private:
  struct Vote {
    uint64_t number;  // in the order in which they were cast
    MonotonicTime ends;
  };
  struct Known {
    std::set<std::string> votes;
    MonotonicTime gone_since = MonotonicTime::InfiniteFuture();
  };
  bool IsOurs(absl::string_view breaker) const;
  int Needed(size_t consumers) const;
  std::set<std::string> ReadVotes(const std::vector<std::string>& names);
  std::vector<std::string> Votes() const;

  const SharedBreakerSettings settings_;
  const Self self_;
  std::map<std::string, Vote, std::less<>> votes_;
  uint64_t next_number_ = 0;
  std::vector<std::string> written_;
  bool changed_ = false;  // the votes, perhaps, since they were written
  MonotonicTime first_end_ = MonotonicTime::InfiniteFuture();  // of a vote, or before it
  MonotonicTime may_write_at_;
  std::map<std::string, Known> known_;
  uint64_t bad_votes_ = 0;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_SHARED_BREAKERS_H_
