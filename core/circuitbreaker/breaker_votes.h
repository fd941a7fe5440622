// The breakers that this consumer tells the others of (circuitbreaker.shared): the rules.
//
//   BreakerVotes votes(write_interval, now);            // entered without votes
//   votes.OnTransition(name, transition);               // of a breaker of our own
//   if (auto list = votes.Take(now)) Write(*list);      // at next_write()
//
// Knows no threads and no I/O. What is made of all consumers' votes: shared_breakers.h.
#ifndef MARPC_CIRCUITBREAKER_BREAKER_VOTES_H_
#define MARPC_CIRCUITBREAKER_BREAKER_VOTES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/circuitbreaker/breaker_events.h"

namespace marpc {

// The rules:
//
// - A vote is cast when a breaker opens by its own calls or probes, never when others, or an
//   operator, open it: no echo.
// - It stands until the breaker closes, is forced or is no more, through HALF_OPEN and renewed
//   openings, so that probes which fail are no news. A breaker that nobody calls does none of
//   these: its vote ends when its wait has passed twice, and ten seconds.
// - A list of votes is given out at most once in `write_interval`, and only if it is another one.
//
// Not thread-safe.
class BreakerVotes {
 public:
  // What is given out at most, the oldest votes first: so many names, of so many bytes together.
  static constexpr size_t kMaxVotes = 1000;
  static constexpr size_t kMaxBytes = 100 << 10;

  // Entered without a vote at `entered_at`; that was the first write.
  BreakerVotes(absl::Duration write_interval, MonotonicTime entered_at)
      : write_interval_(write_interval), may_write_at_(entered_at + write_interval) {}

  void OnTransition(absl::string_view breaker, const BreakerTransition& transition);
  // These breakers are no more.
  void Erase(const std::set<std::string>& breakers);
  // When Take() may have something to give. Infinite: not before the next change.
  MonotonicTime next_write() const;
  // The breakers voted for, sorted, if they are to be written now.
  std::optional<std::vector<std::string>> Take(MonotonicTime now);
  // The list last taken could not be written: it is due again after the interval.
  void OnNotWritten();
  // Those that may be given out, sorted.
  std::vector<std::string> List() const;
  // All of them, sorted.
  std::vector<std::string> All() const;
  // Votes that the list last taken had no room for.
  size_t left_out() const { return left_out_; }

 private:
  struct Vote {
    uint64_t number;  // in the order in which they were cast
    absl::Duration wait;
    MonotonicTime ends;
  };

  const absl::Duration write_interval_;
  std::map<std::string, Vote, std::less<>> votes_;
  uint64_t next_number_ = 0;
  std::optional<std::vector<std::string>> written_ = std::vector<std::string>();  // none: unknown
  bool changed_ = false;  // the votes, perhaps, since they were written
  MonotonicTime first_end_ = MonotonicTime::InfiniteFuture();  // of a vote, or before it
  MonotonicTime may_write_at_;
  size_t left_out_ = 0;
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_BREAKER_VOTES_H_
